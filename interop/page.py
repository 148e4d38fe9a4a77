#!/usr/bin/env python3
"""The proxy's live page in a real browser, beside a load: `make page`. It needs chromium, sysbench and the mariadb client.

It looks at the page in light and dark, wide and narrow, with and without the script, by keyboard and as a screen reader has it, with hostile
names all over; compares its numbers with those of the administrator and of sysbench; kills a session; and measures what ten readers cost.
The pictures are for people: target/page/*.png."""
import http.client, json, os, pathlib, re, shutil, socket, subprocess, sys, tempfile, threading, time

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "page"))
import front, tools
from chromium import Chromium
from tools import Failure

HOSTILE = "<img src=x onerror=hacked=1>'\"\u202e"
TEXT = "</script><script>hacked=1</script><img src=x onerror=hacked=1>"
READERS = 10


def say(text):
    print(f"page: {text}", flush=True)


def check(is_so, what):
    if not is_so:
        raise Failure(what)


class Front(front.Configured):
    """A proxy with a pooled listener, one that is not, one that has no server, and hostile names."""

    def __init__(self, folder, port, password):
        account = lambda user, password: {"user": user, "password": password}
        backend = lambda name, port: {"name": name, "server": f"127.0.0.1:{port}"}
        shop = {"name": "shop", "listen": "127.0.0.1:0", "mode": "transaction", "reencrypt-passwords": True,
                "account": [account("root", password), account(HOSTILE, "secret")],
                "pool": {"max": 4}, "backends": [backend("db1", port)],
                "rule": [{"name": "no drops", "starts-with": "DROP", "reject": f"{TEXT} no drops"},
                         {"name": TEXT, "user": HOSTILE}]}
        reports = {"name": "reports", "listen": "127.0.0.1:0", "backends": [backend("db1", port), backend("db2", 1)]}
        other = {"name": TEXT, "listen": "127.0.0.1:0", "backends": [backend(TEXT, port)]}
        super().__init__(folder, [shop, reports, other], {"web": {"listen": "127.0.0.1:0"}})
        self.web = int(self.wait_for(r"^live page at http://127\.0\.0\.1:(\d+)/")[1])
        self.url = f"http://127.0.0.1:{self.web}"

    def json(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.web, timeout=60)
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())

    def threads(self, name):
        """Nanoseconds on a CPU and voluntary switches of threads of this name; of all without one."""
        time_on, switches = 0, 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            if name is None or (task / "comm").read_text().strip() in name:
                time_on += int((task / "schedstat").read_text().split()[0])
                switches += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text(), re.M)[1])
        return time_on, switches


def sysbench(port, password, seconds, threads, *command):
    return [tools.program("sysbench"), "oltp_point_select", f"--mysql-host=127.0.0.1", f"--mysql-port={port}", "--mysql-user=root",
            f"--mysql-password={password}", "--mysql-db=test", "--mysql-ssl=off", "--tables=1", "--table-size=1000",
            "--db-ps-mode=disable", f"--threads={threads}", f"--time={seconds}", *command]


def client(port, user, password, sql):
    return subprocess.Popen([tools.program("mariadb"), "--no-defaults", "--host=127.0.0.1", f"--port={port}", f"--user={user}",
                             f"--password={password}", "--execute", sql], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def counts(proxy):
    """The administrator's count of queries by listener."""
    found = {}
    for listener, _, kind, commands, *_ in proxy.administer("SHOW STATS"):
        if kind == "query":
            found[listener] = found.get(listener, 0) + int(commands)
    return found


def page_number(browser, table, row, column):
    """A number of a table, by the texts of its row's and its column's heads."""
    text = browser.run(f"""(() => {{
        const table = document.querySelector("#{table} table");
        const at = Array.from(table.tHead.rows[0].cells).findIndex((cell) => cell.textContent === {json.dumps(column)});
        const row = Array.from(table.tBodies[0].rows).find((row) => row.textContent.includes({json.dumps(row)}));
        return row ? row.cells[at].textContent : null;
    }})()""")
    return int(text.replace(",", "")) if text and re.fullmatch(r"[\d,]+", text) else text


def numbers(browser, proxy, load, threads):
    """The page's numbers beside the administrator's and sysbench's own."""
    before = counts(proxy).get("shop", 0)
    browser.go(f"{proxy.url}/")
    run = subprocess.Popen(load, stdout=subprocess.PIPE, text=True)
    is_sum = 0
    while run.poll() is None:
        low = counts(proxy).get("shop", 0)
        seen = browser.until("""(async () => {
            const before = document.getElementById("time").textContent;
            for (let at = 0; at < 100 && document.getElementById("time").textContent === before; at += 1) {
                await new Promise((go) => setTimeout(go, 50));
            }
            return document.getElementById("time").textContent;
        })()""", "the next event")
        shown = page_number(browser, "kinds", "queryshop", "Since the start")
        high = counts(proxy).get("shop", 0)
        if isinstance(shown, int):
            check(low <= shown <= high, f"the page has {shown} queries at {seen}, the administrator {low} before and {high} behind")
            is_sum += 1
    check(is_sum >= 3, "the page was looked at too seldom")
    report = run.communicate()[0]
    total = int(re.search(r"total:\s+(\d+)", report)[1])
    after = counts(proxy)["shop"]
    check(total <= after - before <= total + threads, f"sysbench has {total} queries, the administrator {after - before}")
    browser.until(f"""document.querySelector("#kinds").textContent.includes("{after:,}")""", "sysbench's count")
    check(proxy.json("/api/now")["commands"] and after == sum(one["commands"] for one in proxy.json("/api/now")["commands"]
          if one["listener"] == "shop" and one["command"] == "query"), "the JSON has another count")
    say(f"{is_sum} looks under load agree with the administrator; {total} queries by sysbench are {after - before} on the page")


def hostile(browser, where):
    check(browser.run("window.hacked") is None, f"{where}: a name was run")
    check(browser.run("document.images.length") == 0, f"{where}: a name became an image")
    scripts = browser.run("Array.from(document.scripts, (one) => one.getAttribute('src'))")
    check(scripts in (["/page.js"], []), f"{where}: scripts {scripts}")


CONTRAST = """(() => {
    const parts = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = (color) => {
        const [r, g, b] = parts(color).map((part) => part / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        for (let one = element; one; one = one.parentElement) {
            const color = getComputedStyle(one).backgroundColor;
            if ((parts(color)[3] ?? 1) > 0) { return color; }
        }
        return "rgb(255, 255, 255)";
    };
    const low = [];
    for (const element of document.querySelectorAll("body *")) {
        const own = Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.textContent.trim());
        if (!own || !element.checkVisibility()) { continue; }
        const [a, b] = [light(getComputedStyle(element).color), light(behind(element))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) { low.push(`${element.tagName} ${element.className} ${element.textContent.slice(0, 30)} ${contrast}`); }
    }
    return low;
})()"""


def looks(browser, proxy, pictures):
    session = proxy.json("/api/sessions")["sessions"][0]
    for path, name in [("/", "overview"), ("/sessions", "sessions"), (f"/session?listener={session['listener']}&id={session['id']}", "session"),
                       ("/login", "login")]:
        for width, dark, kind in [(1280, False, "light"), (1280, True, "dark"), (360, False, "narrow"), (360, True, "narrow-dark")]:
            browser.look(width=width, dark=dark)
            browser.go(proxy.url + path)
            if path == "/":
                browser.until("document.getElementById('commands').textContent !== '–'", "a rate")
            hostile(browser, name)
            browser.picture(pictures / f"{name}-{kind}.png")
            check(browser.run("document.documentElement.scrollWidth <= innerWidth"), f"{name} is wider than {width}")
            low = browser.run(CONTRAST)
            check(not low, f"{name}, {kind}: too little contrast: {low}")
    browser.look()


def reader(browser, proxy):
    """By keyboard, and as a screen reader has it."""
    browser.go(f"{proxy.url}/")
    browser.tab()
    check(browser.run("document.activeElement.className") == "skip", "the first stop is not the way to the content")
    browser.enter()
    browser.until("document.activeElement.id === 'main'", "the content")
    stops = []
    while True:
        browser.tab()
        if browser.run("document.activeElement === document.body") or len(stops) > 200:
            break
        stops.append(browser.run("document.activeElement.textContent || document.activeElement.tagName"))
        check(browser.run("getComputedStyle(document.activeElement).outlineStyle !== 'none'"), f"{stops[-1]} has no outline")
    check("Pause updates" in stops and "shop" in stops, f"the keyboard does not get to all: {stops}")
    # The focus stays where it is while values change.
    browser.run("document.querySelector('#listeners tbody a').focus(); window.focused = document.activeElement")
    for _ in range(3):
        before = browser.run("document.getElementById('time').textContent")
        browser.until(f"document.getElementById('time').textContent !== '{before}'", "the next event")
    check(browser.run("document.activeElement === window.focused"), "an event has moved the focus")
    names = browser.names()
    for role in ["link", "button", "table", "region", "columnheader", "rowheader", "heading", "navigation"]:
        found = [name for of, name in names if of == role]
        check(found and all(found), f"{role}: {found}")
    check(("table", "Listeners") in names and ("heading", "Overview") in names, f"tables have no names: {names}")
    check(("link", "Pause shop") in names, "an action does not say what it is for")
    # Held, it stands still.
    browser.run("document.getElementById('hold').click()")
    before = browser.run("document.getElementById('time').textContent")
    time.sleep(3)
    check(browser.run("document.getElementById('time').textContent") == before, "it goes on although it is paused")
    browser.run("document.getElementById('hold').click()")
    browser.until(f"document.getElementById('time').textContent !== '{before}'", "the next event")


def without_script(browser, proxy, pictures):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.call("Page.navigate", url=f"{proxy.url}/")
    deadline = time.monotonic() + 60
    # Scripts of the protocol still run. It refreshes by itself, and then has rates.
    while True:
        time.sleep(0.5)
        text = browser.run("document.getElementById('commands')?.textContent")
        if text not in (None, "–"):
            break
        check(time.monotonic() < deadline, f"without the script the page stands still: {text}")
    check(browser.run("document.querySelectorAll('#listeners tbody tr').length") == 3, "without the script rows are missing")
    check(browser.run("document.getElementById('hold').checkVisibility()") is False, "a button does nothing")
    browser.picture(pictures / "overview-no-script.png")
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


def kill(browser, proxy, victim, pictures):
    """Finds a session, logs in, and ends it."""
    browser.go(f"{proxy.url}/sessions?listener=reports&state=command")
    browser.until("document.querySelector('#sessions tbody a')", "the session")
    browser.run("document.querySelector('#sessions tbody a').click()")
    browser.until("location.pathname === '/session' && document.querySelector('#session tbody')", "its page")
    browser.run("Array.from(document.querySelectorAll('#session a')).find((one) => one.textContent === 'Kill').click()")
    browser.until("location.pathname === '/login' && document.readyState === 'complete'", "the login")
    browser.run("document.querySelector('input[name=user]').focus()")
    browser.type("admin")
    browser.run("document.querySelector('input[name=password]').focus()")
    browser.type("wrong")
    browser.enter()
    browser.until("document.querySelector('[role=alert]')", "the refusal")
    browser.run("document.querySelector('input[name=user]').focus()")
    browser.type("admin")
    browser.run("document.querySelector('input[name=password]').focus()")
    browser.type("order")
    browser.enter()
    browser.until("location.pathname === '/action' && document.querySelector('.danger')", "the question")
    browser.picture(pictures / "question.png")
    check(victim.poll() is None, "it has ended before")
    browser.run("document.querySelector('.danger').click()")
    browser.until("document.querySelector('main .good')", "the answer")
    browser.picture(pictures / "done.png")
    said = victim.communicate(timeout=60)[1]
    check("1927" in said, f"it was not killed: {said}")
    check(browser.run("document.cookie") == "", "a script sees the cookie")
    browser.run("document.querySelector('.who button').click()")
    browser.until("document.querySelector('.who a')?.textContent === 'Log in'", "the end of the login")


def cost(proxy, port, password):
    """What ten readers cost beside a load, of all that the proxy does."""
    run = subprocess.Popen(sysbench(port, password, 40, 16, "run"), stdout=subprocess.DEVNULL)
    time.sleep(5)

    def shares(seconds):
        names = {"web", "web-maker"}
        own, all_of_it = proxy.threads(names)[0], proxy.threads(None)[0]
        time.sleep(seconds)
        return proxy.threads(names)[0] - own, proxy.threads(None)[0] - all_of_it

    alone = shares(10)
    readers = []
    for _ in range(READERS):
        readers.append(socket.create_connection(("127.0.0.1", proxy.web)))
        readers[-1].sendall(b"GET /events HTTP/1.0\r\n\r\n")
        threading.Thread(target=read_all, args=(readers[-1],), daemon=True).start()
    with_readers = shares(10)
    share = with_readers[0] / with_readers[1]
    say(f"CPU of the page's threads: {alone[0] / alone[1]:.3%} of the proxy's without readers, {share:.3%} with {READERS}")
    check(share < 0.01, f"{READERS} readers cost {share:.3%} of the proxy's CPU")
    run.kill()
    run.wait()
    for reader in readers:
        reader.shutdown(socket.SHUT_RDWR)


def read_all(stream):
    while stream.recv(1 << 16):
        pass


def silence(proxy):
    """Nothing is made when nobody reads."""
    deadline = time.monotonic() + 60
    while True:
        before = proxy.threads({"web-maker"})[1]
        time.sleep(3)
        if proxy.threads({"web-maker"})[1] == before:
            return
        check(time.monotonic() < deadline, "it goes on for nobody")


def main():
    server = os.environ["ONECOPY_TCP_URL"]
    password, port = re.match(r"mysql://root:([^@]*)@127\.0\.0\.1:(\d+)/", server).groups()
    pictures = tools.target() / "page"
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    quoted = HOSTILE.replace("'", "''")
    for sql in [f"CREATE USER '{quoted}'@'%' IDENTIFIED BY 'secret'", f"GRANT SELECT ON test.* TO '{quoted}'@'%'"]:
        check(client(port, "root", password, sql).wait() == 0, f"{sql} has failed")
    tools.run(sysbench(port, password, 0, 1, "prepare"))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        with Front(folder, port, password) as proxy:
            shop, reports, _ = proxy.ports(3)
            browser = Chromium(tools.program("chromium"), folder / "browser")
            try:
                held = client(shop, HOSTILE, "secret", "SELECT GET_LOCK('a', 0); SELECT SLEEP(300)")
                victim = client(reports, "root", password, "SELECT SLEEP(300)")
                check(client(shop, HOSTILE, "secret", "DROP TABLE a").wait() != 0, "the rule does not reject")
                numbers(browser, proxy, sysbench(shop, password, 10, 8, "run"), 8)
                background = subprocess.Popen(sysbench(shop, password, 300, 8, "--rate=200", "run"), stdout=subprocess.DEVNULL)
                looks(browser, proxy, pictures)
                say(f"it looks as it should in light and dark, wide and narrow: {pictures}")
                reader(browser, proxy)
                say("keyboard and screen reader get to all of it")
                without_script(browser, proxy, pictures)
                say("its tables need no script")
                kill(browser, proxy, victim, pictures)
                say("a session was killed after a login")
                background.kill()
                background.wait()
                held.kill()
                held.wait()
                own = [url for url in browser.requests if not url.startswith((proxy.url, "about:"))]
                check(not own, f"it asks others: {own}")
                errors = [error for error in browser.errors if "401" not in error]
                check(not errors, f"the browser complains: {errors}")
            finally:
                browser.close()
            silence(proxy)
            say("nothing is made when nobody reads")
            cost(proxy, shop, password)
            proxy.stop()
    say("all is well")


if __name__ == "__main__":
    try:
        main()
    except (Failure, RuntimeError) as failure:
        sys.exit(f"page: {failure}")
