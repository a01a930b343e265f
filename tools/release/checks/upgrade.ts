/** Checks 45 to 51: the installer, the notes of a release, and versions side by side. */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { REPOSITORY_ROOT as root } from '../../source/finding.ts'
import { foldFragments, readFragments } from '../fragments.ts'
import { openRelease, run, type OpenedRelease } from '../opened.ts'
import { withTempFolder } from './agent.ts'
import {
  fromTests,
  isTool,
  runInstalledProgram,
  skipped,
  passIf,
  type Check,
  type Outcome,
} from './check.ts'
import { nodesBesideServers, serversOnOneDatabase } from './versions.ts'

interface Installed {
  readonly status: number | null
  readonly stderr: string
}

/** Runs a copy of the installer with a changed release; nothing may be installed then. */
function installing(release: OpenedRelease, folder: string) {
  const from = join(folder, 'from')
  const prefix = join(folder, 'prefix')
  const archive = release.file('.tar.xz').split('/').at(-1) ?? ''
  const restore = (): void => {
    fs.rmSync(from, { recursive: true, force: true })
    fs.mkdirSync(from)
    for (const name of fs.readdirSync(release.folder))
      if (/^(?:install\.sh|SHA256SUMS.*)$/.test(name))
        fs.copyFileSync(join(release.folder, name), join(from, name))
    fs.symlinkSync(release.file('.tar.xz'), join(from, archive))
  }
  const install = (args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Installed => {
    const all = [join(from, 'install.sh'), '--prefix', prefix, '--from', from, ...args]
    return spawnSync('sh', all, {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: folder, ...env },
    })
  }
  restore()
  return { from, prefix, archive, restore, install }
}

interface Mistake {
  readonly name: string
  readonly says: RegExp
  readonly make: (of: ReturnType<typeof installing>) => Installed
}

const MISTAKES: readonly Mistake[] = [
  {
    name: 'a changed file',
    says: /is not what the release says\. Nothing was installed/,
    make: ({ from, archive, install }) => {
      fs.rmSync(join(from, archive))
      fs.writeFileSync(join(from, archive), 'changed')
      return install(['--public-key', ''])
    },
  },
  {
    name: 'a changed list',
    says: /does not name|is not what the release says|not signed by the release/,
    make: ({ from, install }) => {
      const sums = fs.readFileSync(join(from, 'SHA256SUMS'), 'utf8')
      fs.writeFileSync(join(from, 'SHA256SUMS'), sums.replaceAll(/^[0-9a-f]/gm, 'x'))
      return install(['--public-key', ''])
    },
  },
  {
    name: 'a prefix that cannot be written to',
    says: /cannot be written to\. .*Nothing was installed/,
    make: ({ install }) => install(['--prefix', '/proc/nowhere']),
  },
]

/** A public key that signed no release. */
const WRONG_KEY = 'RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3'

async function checkInstaller(release: OpenedRelease): Promise<Outcome> {
  return await withTempFolder((folder) => {
    const of = installing(release, folder)
    const problems: string[] = []
    const expect = (isRight: boolean, what: string, found: Installed): void => {
      if (!isRight) problems.push(`${what}: exit ${found.status}, ${found.stderr.slice(-300)}`)
    }
    for (const { name, says, make } of MISTAKES) {
      of.restore()
      const found = make(of)
      const isAbsent = !fs.existsSync(join(of.prefix, 'bin/reeve'))
      expect(found.status === 1 && says.test(found.stderr) && isAbsent, name, found)
    }
    of.restore()
    const script = fs.readFileSync(join(of.from, 'install.sh'), 'utf8')
    const half = spawnSync('sh', ['-c', script.slice(0, -20)], { encoding: 'utf8' })
    const isNothing = !fs.existsSync(join(of.prefix, 'bin/reeve'))
    expect(isNothing, 'a script that was cut off', half)
    const isSigned = fs.existsSync(join(of.from, 'SHA256SUMS.minisig')) && isTool('minisign')
    if (isSigned) {
      const wrong = of.install(['--public-key', WRONG_KEY])
      expect(wrong.status === 1 && /is not signed/.test(wrong.stderr), 'a wrong key', wrong)
    }
    const installs = [of.install(), of.install(['--public-key', ''])]
    for (const found of installs) expect(found.status === 0, 'a good release', found)
    const only = /only the checksum is checked/.test(installs[1]?.stderr ?? '')
    expect(only, 'without a signature it says so', { status: 0, stderr: installs[1]?.stderr ?? '' })
    const version = run(join(of.prefix, 'bin/reeve'), ['version'])
    expect(version.startsWith('reeve '), version, { status: 0, stderr: '' })
    const says = `installs twice; refuses ${MISTAKES.map(({ name }) => name).join(', ')}`
    return passIf(
      problems.length === 0,
      problems.join('; ') || (isSigned ? `${says}, a wrong key` : says),
    )
  })
}

/** `version.json` of the Debian package, and what the program says. */
function sameVersions(release: OpenedRelease): Outcome {
  const said: Record<string, unknown> = JSON.parse(
    runInstalledProgram(release, 'version', '--json'),
  )
  const texts = [fs.readFileSync(join(release.installation, 'version.json'), 'utf8')]
  const inDeb = spawnSync(
    'sh',
    [
      '-c',
      'dpkg-deb --fsys-tarfile "$0" | tar -xO ./usr/lib/reeve/version.json',
      release.file('.deb'),
    ],
    { encoding: 'utf8' },
  )
  if (inDeb.status === 0) texts.push(inDeb.stdout)
  const isRight = texts.every((text) => {
    const wanted: Record<string, unknown> = JSON.parse(text)
    return ['version', 'commit', 'builtAt'].every((name) => said[name] === wanted[name])
  })
  return passIf(isRight, JSON.stringify(said))
}

const NEXT = 'name a build of another version in REEVE_NEXT_BUILD'

async function besideNext(
  release: OpenedRelease,
  check: (release: OpenedRelease, next: OpenedRelease) => Promise<Outcome>,
): Promise<Outcome> {
  const folder = process.env['REEVE_NEXT_BUILD']
  if (folder === undefined) return skipped(NEXT)
  const next = await openRelease(folder)
  try {
    return await check(release, next)
  } finally {
    next.close()
  }
}

const SOURCE = 'packages/reeve/src'

export const upgrade: readonly Check[] = [
  {
    number: 45,
    title: 'install.sh: installs, twice; refuses what is not the release',
    run: (release) => checkInstaller(release),
  },
  {
    number: 46,
    title: 'every fragment has kind and area, and folding them is stable',
    run: () => {
      const fragments = readFragments(join(root, 'changes'))
      const folded = foldFragments(fragments)
      const isSame = folded === foldFragments(fragments.toReversed())
      return passIf(isSame, `${fragments.length} fragments, ${folded.split('\n').length} lines`)
    },
  },
  {
    number: 47,
    title: 'version --json has commit and time, the same in all artefacts',
    run: sameVersions,
  },
  {
    number: 48,
    title: 'nodes of one version beside servers of the next, and the reverse',
    run: (release) => besideNext(release, nodesBesideServers),
  },
  {
    number: 49,
    title: 'servers of two versions on one database',
    run: (release) => besideNext(release, serversOnOneDatabase),
  },
  {
    number: 50,
    title: 'newer formats are refused with a sentence, and nothing changes',
    run: () =>
      fromTests(
        `${SOURCE}/storage/embedded/damage.test.ts`,
        `${SOURCE}/storage/postgres/postgres-database.test.ts`,
        `${SOURCE}/agent/store/agent-storage.test.ts`,
        `${SOURCE}/main/check-snapshot.test.ts`,
        'packages/reeve/test/api/channel-version.test.ts',
      ),
  },
  {
    number: 51,
    title: 'reeve tls: strict verification, handshake, expiry, modes, nothing overwritten',
    run: () =>
      fromTests(
        'packages/reeve/test/cli/tls-commands.test.ts',
        'packages/reeve/test/cli/tls.test.ts',
      ),
  },
]
