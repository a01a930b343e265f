/**
 * The browser that the web UI is tested in. Only for tests, only where root on Debian can install
 * it, and never a reason to fail: a machine without it skips those tests.
 */
import fs from 'node:fs'
import path from 'node:path'
import { noteTried, runApt, wasTried } from './containers.mjs'

/**
 * Either will do. The shell is Chromium without a window: a smaller package, and its tests take a
 * quarter less time, which is more than it takes to install. So it comes also where the other is.
 */
const SHELL = 'chromium-headless-shell'
const PACKAGES = [SHELL, 'chromium']
const TESTS = 'packages/web/test/shell.test.ts'
const TRIED = 'node_modules/.cache/reeve/browser-tried'

const FETCH_MS_MAX = 180_000
/** Reading packages from the disk; ending it half-way would leave the machine's packages broken. */
const INSTALL_MS_MAX = 5 * 60_000

const OPTIONS = ['-o', 'DPkg::Lock::Timeout=20', '-o', 'Acquire::Retries=1']
const INSTALL = [...OPTIONS, 'install', '-y', '--no-install-recommends']

/** Installs it where it is missing. Resolves in any case; `say` is told when there is none. */
export async function setUpBrowser(root, machine = thisMachine(root)) {
  if (machine.has([SHELL]) || !machine.canInstall() || machine.wasTried()) return
  machine.say('Installing chromium for the tests of the web UI…')
  const hasOther = machine.has(PACKAGES)
  const complaint = await install(machine, hasOther ? [SHELL] : PACKAGES)
  if (complaint === undefined) return
  machine.noteTried()
  if (hasOther) return
  machine.say(
    `The web UI is not tested in a browser: apt-get could not install chromium (${complaint}).`,
  )
}

/** The first package that this machine's sources have; what went wrong when none could be had. */
async function install(machine, packages) {
  let complaint = await machine.apt([...OPTIONS, 'update'], FETCH_MS_MAX)
  if (complaint !== undefined) return complaint
  for (const name of packages) {
    complaint = await machine.apt([...INSTALL, '--download-only', name], FETCH_MS_MAX)
    if (complaint !== undefined) continue
    return await machine.apt([...INSTALL, '--no-download', name], INSTALL_MS_MAX)
  }
  return complaint
}

function thisMachine(root) {
  const tried = path.join(root, TRIED)
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(path.delimiter)]
  const named = process.env.REEVE_CHROMIUM
  return {
    has: (programs) =>
      (named !== undefined && fs.existsSync(named)) ||
      programs.some((name) => folders.some((folder) => fs.existsSync(path.join(folder, name)))),
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
