/**
 * The browser that the web UI is tested in. Only for tests, only where root on Debian can install
 * it, and never a reason to fail: a machine without it skips those tests.
 */
import fs from 'node:fs'
import path from 'node:path'
import { noteTried, runApt, wasTried } from './containers.mjs'

const PROGRAM = '/usr/bin/chromium'
const TESTS = 'packages/web/test/shell.test.ts'
const TRIED = 'node_modules/.cache/reeve/browser-tried'

const FETCH_MS_MAX = 180_000
/** Reading packages from the disk; ending it half-way would leave the machine's packages broken. */
const INSTALL_MS_MAX = 5 * 60_000

const OPTIONS = ['-o', 'DPkg::Lock::Timeout=20', '-o', 'Acquire::Retries=1']
const INSTALL = [...OPTIONS, 'install', '-y', '--no-install-recommends']

/** Installs it where it is missing. Resolves in any case; `say` is told when it failed. */
export async function setUpBrowser(root, machine = thisMachine(root)) {
  if (machine.has() || !machine.canInstall() || machine.wasTried()) return
  machine.say('Installing chromium for the tests of the web UI…')
  const steps = [
    { args: [...OPTIONS, 'update'], timeoutMs: FETCH_MS_MAX },
    { args: [...INSTALL, '--download-only', 'chromium'], timeoutMs: FETCH_MS_MAX },
    { args: [...INSTALL, '--no-download', 'chromium'], timeoutMs: INSTALL_MS_MAX },
  ]
  for (const { args, timeoutMs } of steps) {
    const complaint = await machine.apt(args, timeoutMs)
    if (complaint === undefined) continue
    machine.noteTried()
    machine.say(
      `The web UI is not tested in a browser: apt-get could not install chromium (${complaint}).`,
    )
    return
  }
}

function thisMachine(root) {
  const tried = path.join(root, TRIED)
  const folders = (process.env.PATH ?? '').split(path.delimiter)
  const places = [process.env.REEVE_CHROMIUM, PROGRAM, ...folders.map((one) => `${one}/chromium`)]
  return {
    has: () => places.some((place) => place !== undefined && fs.existsSync(place)),
    canInstall: () =>
      process.getuid?.() === 0 &&
      fs.existsSync('/etc/debian_version') &&
      fs.existsSync(path.join(root, TESTS)),
    wasTried: () => wasTried(tried),
    noteTried: () => noteTried(tried),
    apt: runApt,
    say: (sentence) => process.stderr.write(`${sentence}\n`),
  }
}
