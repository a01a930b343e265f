/**
 * The container engine that the docker driver is tested against. Only for tests, only where root on
 * Debian can install it, and never a reason to fail: a machine without it skips those tests.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

/** What is needed, and the package that brings it. The static busybox is the image of the tests. */
const NEEDED = [
  { program: 'podman', debian: 'podman' },
  { program: 'runc', debian: 'runc' },
  { program: 'busybox', debian: 'busybox-static' },
]
const TESTS = 'packages/reeve/src/drivers/docker/podman.test.ts'
const FOLDERS = ['/usr/bin', '/usr/sbin', '/bin', '/sbin']

/** A day's failure is not asked for again with every run of the tests. */
const TRIED = 'node_modules/.cache/reeve/containers-tried'
const TRIED_MS_MAX = 24 * 60 * 60 * 1_000

const FETCH_MS_MAX = 90_000
/** Reading packages from the disk; ending it half-way would leave the machine's packages broken. */
const INSTALL_MS_MAX = 5 * 60_000

const OPTIONS = ['-o', 'DPkg::Lock::Timeout=20', '-o', 'Acquire::Retries=1']
const INSTALL = [...OPTIONS, 'install', '-y', '--no-install-recommends']

/**
 * Installs what is missing. Resolves in any case; `say` gets one sentence when it could not be had.
 */
export async function setUpContainers(root, machine = thisMachine(root)) {
  const missing = NEEDED.filter(({ program }) => !machine.has(program))
  if (missing.length === 0 || !machine.canInstall() || machine.wasTried()) return
  const packages = missing.map(({ debian }) => debian)
  machine.say(`Installing ${packages.join(', ')} for the tests of the docker driver…`)
  const steps = [
    { args: [...OPTIONS, 'update'], timeoutMs: FETCH_MS_MAX },
    { args: [...INSTALL, '--download-only', ...packages], timeoutMs: FETCH_MS_MAX },
    { args: [...INSTALL, '--no-download', ...packages], timeoutMs: INSTALL_MS_MAX },
  ]
  for (const { args, timeoutMs } of steps) {
    const complaint = await machine.apt(args, timeoutMs)
    if (complaint === undefined) continue
    machine.noteTried()
    machine.say(
      `The docker driver is not tested against an engine: apt-get could not install ` +
        `${packages.join(', ')} (${complaint}).`,
    )
    return
  }
}

function thisMachine(root) {
  const tried = path.join(root, TRIED)
  return {
    has: (program) => FOLDERS.some((folder) => fs.existsSync(path.join(folder, program))),
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

export function wasTried(tried) {
  const found = fs.statSync(tried, { throwIfNoEntry: false })
  return found !== undefined && Date.now() - found.mtimeMs < TRIED_MS_MAX
}

export function noteTried(tried) {
  try {
    fs.mkdirSync(path.dirname(tried), { recursive: true })
    fs.writeFileSync(tried, '')
  } catch (error) {
    if (!['EACCES', 'EROFS', 'EPERM'].includes(error.code)) throw error
  }
}

/** What went wrong in a few words; undefined when nothing did. */
export function runApt(args, timeoutMs) {
  return new Promise((resolve) => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }
    const options = { env, timeout: timeoutMs, maxBuffer: 1 << 24 }
    execFile('apt-get', args, options, (error, _stdout, stderr) => {
      if (error === null) return resolve(undefined)
      if (error.killed) return resolve(`it took longer than ${timeoutMs / 1000} s`)
      const lines = stderr.split('\n').filter((line) => line.startsWith('E: '))
      return resolve(lines[0]?.slice('E: '.length) ?? error.message.split('\n')[0])
    })
  })
}
