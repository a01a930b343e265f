/**
 * The database that the PostgreSQL engine is tested against. Only for tests, only where root on
 * Debian can install it, and never a reason to fail: a machine without it skips those tests.
 */
import fs from 'node:fs'
import path from 'node:path'
import { noteTried, runApt, wasTried } from './containers.mjs'

const FOLDER = '/usr/lib/postgresql'
const TESTS = 'packages/reeve/src/storage/postgres/postgres-engine.test.ts'
const TRIED = 'node_modules/.cache/reeve/postgres-tried'
const CLUSTERS = '/etc/postgresql-common/createcluster.conf'

const FETCH_MS_MAX = 120_000
/** Reading packages from the disk; ending it half-way would leave the machine's packages broken. */
const INSTALL_MS_MAX = 5 * 60_000

const OPTIONS = ['-o', 'DPkg::Lock::Timeout=20', '-o', 'Acquire::Retries=1']
const INSTALL = [...OPTIONS, 'install', '-y', '--no-install-recommends']

/**
 * Installs it where it is missing. The package would make a cluster of its own and start it: tests
 * make theirs, so it is told not to. Resolves in any case; `say` gets one sentence when it could
 * not be had.
 */
export async function setUpPostgres(root, machine = thisMachine(root)) {
  if (machine.has() || !machine.canInstall() || machine.wasTried()) return
  machine.say('Installing postgresql for the tests of the PostgreSQL engine…')
  const complaint = await install(machine)
  if (complaint === undefined) return
  machine.noteTried()
  machine.say(
    `The PostgreSQL engine is not tested: apt-get could not install postgresql (${complaint}).`,
  )
}

async function install(machine) {
  const prepare = [
    { args: [...OPTIONS, 'update'], timeoutMs: FETCH_MS_MAX },
    { args: [...INSTALL, '--download-only', 'postgresql'], timeoutMs: FETCH_MS_MAX },
    { args: [...INSTALL, 'postgresql-common'], timeoutMs: INSTALL_MS_MAX },
  ]
  for (const { args, timeoutMs } of prepare) {
    const complaint = await machine.apt(args, timeoutMs)
    if (complaint !== undefined) return complaint
  }
  const restore = machine.makeNoCluster()
  try {
    return await machine.apt([...INSTALL, '--no-download', 'postgresql'], INSTALL_MS_MAX)
  } finally {
    restore()
  }
}

function thisMachine(root) {
  const tried = path.join(root, TRIED)
  return {
    has: () =>
      (fs.existsSync(FOLDER) ? fs.readdirSync(FOLDER) : []).some((version) =>
        fs.existsSync(path.join(FOLDER, version, 'bin', 'initdb')),
      ),
    canInstall: () =>
      process.getuid?.() === 0 &&
      fs.existsSync('/etc/debian_version') &&
      fs.existsSync(path.join(root, TESTS)),
    wasTried: () => wasTried(tried),
    noteTried: () => noteTried(tried),
    apt: runApt,
    makeNoCluster,
    say: (sentence) => process.stderr.write(`${sentence}\n`),
  }
}

/** Gives what puts the file back: whoever installs a database for himself gets his cluster. */
function makeNoCluster() {
  const before = fs.existsSync(CLUSTERS) ? fs.readFileSync(CLUSTERS, 'utf8') : undefined
  fs.writeFileSync(CLUSTERS, `${before ?? ''}\ncreate_main_cluster = off\n`)
  return () => {
    if (before === undefined) fs.rmSync(CLUSTERS)
    else fs.writeFileSync(CLUSTERS, before)
  }
}
