"""Programs of others that ask the service: `make clients`. Not in the suite: they are downloaded.

OpenRefine's classes come from Maven Central, TEI Publisher's connector from npm, the test bench of
the W3C group and the plug-in of Recogito Studio from GitHub (``GITHUB=DIR`` clones them from
``DIR/OWNER/NAME``). What cannot be had is skipped, and says why. All addresses are of this machine.
"""

import functools
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BUILD = ROOT / "build" / "clients"
REGISTER = ROOT / "tests" / "data" / "register"
OPENREFINE, CONNECTOR = "3.9.5", "@teipublisher/pb-components@3.2.1"
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>o</groupId><artifactId>o</artifactId><version>1</version><dependencies><dependency>
<groupId>org.openrefine</groupId><artifactId>main</artifactId><version>{OPENREFINE}</version>
</dependency></dependencies></project>"""
JAVA = """
import com.google.refine.model.*;
import com.google.refine.model.recon.*;
import java.util.*;
import com.google.refine.util.ParsingUtilities;
class Client {
  public static void main(String[] given) throws Exception {
    var service = new StandardReconConfig(given[0], "i", "s", "person", "person", true, List.of());
    var found = service.batchRecon(List.of(service.createSimpleJob(given[1])), 0).get(0);
    for (ReconCandidate c : found.candidates) System.out.println(c.id + "\\t" + c.name);
    var asked = ParsingUtilities.mapper.readValue("{\\"properties\\":[{\\"id\\":\\"birth\\"}]}",
        ReconciledDataExtensionJob.DataExtensionConfig.class);
    var ids = Set.of(found.candidates.get(0).id);
    var rows = new ReconciledDataExtensionJob(asked, given[0]).extend(ids, new HashMap<>());
    System.out.println("birth\\t" + rows.values().iterator().next().data[0][0]);
    System.exit(0);
  }
}"""
PAGE = """<div id="info"></div><script type="module">
import { ReconciliationService } from "./reconciliation.js";
const config = document.createElement("div");
config.setAttribute("endpoint", "ENDPOINT");
const connector = new ReconciliationService(config);
while (!connector.ORConfig) await new Promise((done) => setTimeout(done, 50));
const { items } = await connector.query("NAME");
await connector.info(items[0].id, document.querySelector("#info"));
window.items = items;
</script>"""
TRIGGER = (
    "export const task = (made) => made; export const logger = { info() {}, error: console.error };"
)
PLUGIN = """import { doStanfordNlp } from "./src/trigger/tasks/doStandfordNlp.ts";
const data = { data: process.argv[2], language: "de", outputLanguage: "de" };
const { ner } = await doStanfordNlp.run(data, { ctx: {} });
console.log(JSON.stringify(ner.entries.map((name) => [name.text, name.inlineTag])));
"""


def run(*command, cwd, **variables):
    """Run a program, and return what it prints."""
    options = {"cwd": cwd, "capture_output": True, "text": True, "timeout": 600}
    done = subprocess.run(command, check=False, env=os.environ | variables, **options)
    assert not done.returncode, f"{' '.join(command)[:60]}: {(done.stderr or done.stdout)[-400:]}"
    return done.stdout


def get(*command, cwd=BUILD):
    """Run a program that fetches or builds a client; skip the test where that is not possible."""
    BUILD.mkdir(parents=True, exist_ok=True)
    try:
        return run(*command, cwd=cwd)
    except (OSError, AssertionError) as error:
        pytest.skip(str(error))


def clone(name):
    folder = BUILD / name.replace("/", "-")
    if not folder.exists():
        github = os.environ.get("GITHUB", "https://github.com")
        get("git", "clone", "--quiet", "--depth", "1", f"{github}/{name}", str(folder))
    return folder


@pytest.fixture(scope="module")
def service(tagger_run):
    """Serve a small tagger and the register of the sample letters."""
    command = [sys.executable, "-m", "modeling.serve", str(tagger_run), "--port", "0"]
    command += ["--register", str(REGISTER / "*.xml")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        yield re.search(r"http://\S+", process.stderr.readline())[0]
        process.kill()


@pytest.fixture
def show(browser):
    """Serve a folder, open it in the browser, and note what goes wrong in the page."""
    servers = []

    def opened(folder, path=""):
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
        servers.append(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        page = browser.new_page()
        page.route(lambda url: "://127.0.0.1:" not in url, lambda route: route.abort())
        page.goto(f"http://127.0.0.1:{servers[-1].server_port}/{path}")
        return page

    yield opened
    for server in servers:
        server.shutdown()
        server.server_close()


def test_openrefine_reconciles_and_fetches_values(service):
    folder = BUILD / f"openrefine-{OPENREFINE}"
    if not (folder / "jars").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pom.xml").write_text(POM)
        copy = ("dependency:copy-dependencies", "-DoutputDirectory=jars")
        get("mvn", "-q", "-B", *copy, cwd=folder)
    (folder / "Client.java").write_text(JAVA)
    get("javac", "-cp", "jars/*", "Client.java", cwd=folder)

    given = (f"{service}/reconcile", "Konrad Ahlensteg")
    said = run("java", "-cp", "jars/*:.", "Client", *given, cwd=folder)

    rows = [line.split("\t") for line in said.splitlines()]
    assert rows[0][1].startswith("Ahlensteg")
    assert rows[-1][0] == "birth"


def test_the_test_bench_accepts_manifest_and_candidates_of_the_draft(service, show):
    bench = clone("reconciliation-api/testbench")
    if not (bench / "dist").exists():
        get("npm", "ci", "--no-audit", "--no-fund", cwd=bench)
        get("npx", "vite", "build", "--base", "/", cwd=bench)
    page = show(bench / "dist", "#/client/")

    page.fill("#endpointField", f"{service}/reconcile/1.0")
    page.fill("input[placeholder='Name']", "Konrad Ahlensteg")
    page.click("button:has-text('Reconcile')")

    page.wait_for_selector(".list-group-item:has-text('Ahlensteg')")
    assert not page.locator(".alert").count(), page.inner_text("body")


def test_the_connector_of_tei_publisher_shows_candidates_and_details(service, show):
    folder = BUILD / "package" / "src" / "authority"
    if not folder.exists():
        archive = get("npm", "pack", CONNECTOR).split()[-1]
        get("tar", "xzf", archive)
    page = PAGE.replace("ENDPOINT", f"{service}/reconcile").replace("NAME", "Konrad Ahlensteg")
    (folder / "check.html").write_text(page)

    page = show(folder, "check.html")
    page.wait_for_function("() => window.items")

    assert page.evaluate("() => window.items[0].label").startswith("Ahlensteg")
    assert "Ahlensteg" in page.inner_text("#info")


def test_the_plug_in_of_recogito_studio_reads_names(service):
    plugin = clone("recogito/plugin-ner")
    (plugin / "trigger.mjs").write_text(TRIGGER)
    (plugin / "check.ts").write_text(PLUGIN)
    bundle = ("--bundle", "--platform=node", "--format=esm", "--outfile=check.mjs")
    alias = "--alias:@trigger.dev/sdk/v3=./trigger.mjs"
    get("npx", "--yes", "esbuild@0.25.12", "check.ts", *bundle, alias, cwd=plugin)

    said = run("node", "check.mjs", "ich war in Ulm.", cwd=plugin, CORENLP_URL_DE=service)

    assert json.loads(said) == [["Ulm", "placeName"]]
