/** Checks 11 to 20: the tarball on machines of several kinds. */
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { basename, join } from 'node:path'
import { startUpRatios } from '../figures.ts'
import { inRoot, run, type OpenedRelease } from '../opened.ts'
import { waitFor, withAgent, withTempFolder, writeJob, type RunningAgent } from './agent.ts'
import {
  installedFiles,
  runInstalledProgram,
  skipped,
  passIf,
  passIfMatches,
  type Check,
  type Outcome,
  firstJobScript,
  HEALTHY,
} from './check.ts'

const FIRST_JOB_MS_MAX = 60_000
const NOBODY = 65_534

/** The time from the files that a user downloads, in the root, to a healthy deployment. */
function installToFirstJob(release: OpenedRelease): Outcome {
  const root = release.debianRoot()
  if (root === undefined) return skipped(release.rootMissing)
  const downloads = join(root, 'root/downloads')
  fs.mkdirSync(downloads)
  for (const suffix of ['.tar.xz', 'install.sh', 'SHA256SUMS']) {
    const file = release.file(suffix)
    fs.copyFileSync(file, join(downloads, basename(file)))
  }
  const startedMs = performance.now()
  const installer = "sh /root/downloads/install.sh --from /root/downloads --public-key ''"
  const said = inRoot(
    root,
    `${installer} --prefix /opt/reeve\n${firstJobScript('/opt/reeve/bin/reeve')}`,
  )
  const tookMs = performance.now() - startedMs
  return passIf(
    HEALTHY.test(said) && tookMs <= FIRST_JOB_MS_MAX,
    `${(tookMs / 1_000).toFixed(1)} s from install.sh to a healthy deployment`,
  )
}

/** Runs a script in an empty root that has the tarball in `/opt`. */
function inDebian(
  release: OpenedRelease,
  script: (program: string) => string,
  judge: (said: string) => Outcome,
): Outcome {
  const root = release.debianRoot()
  if (root === undefined) return skipped(release.rootMissing)
  const name = release.installation.split('/').at(-1) ?? ''
  run('tar', ['-xJf', release.file('.tar.xz'), '-C', join(root, 'opt')])
  return judge(inRoot(root, script(`/opt/${name}/bin/reeve`)))
}

function programOf({ installation }: OpenedRelease): readonly string[] {
  return [join(installation, 'bin/reeve')]
}

/** A node of an agent, as the API describes it. */
interface NodeDetail {
  readonly Drivers?: Readonly<Record<string, { Healthy: boolean; HealthDescription: string }>>
}

export async function driverHealth(agent: RunningAgent, driver: string): Promise<string> {
  // Proof: the API document describes the list.
  const [node] = (await agent.get('/v1/nodes')) as { ID: string }[]
  // Proof: the API document describes the node.
  const detail = (await agent.get(`/v1/node/${node?.ID ?? ''}`)) as NodeDetail
  const health = detail.Drivers?.[driver]
  return health === undefined ? 'missing' : `${health.Healthy} ${health.HealthDescription}`
}

const TASK_MS_MAX = 30_000

/** The output of a task of the driver about itself. */
export async function saidByTask(agent: RunningAgent, driver: string): Promise<string> {
  return await withTempFolder(async (folder) => {
    agent.cli('job', 'run', writeJob(folder, 'self', driver))
    const logs = (): string => agent.cli('alloc', 'logs', '--job', 'self')
    await waitFor(() => logs().includes('ready'), 'the output of the task', TASK_MS_MAX)
    const said = logs()
    agent.cli('job', 'stop', '--purge', 'self')
    return said
  })
}

export const tarball: readonly Check[] = [
  {
    number: 11,
    title: 'install.sh in an empty Debian root: a first job within 60 s of the download',
    run: installToFirstJob,
  },
  {
    number: 12,
    title: 'as a user: exec is unhealthy, with its reason',
    run: async (release) => {
      if (process.getuid?.() !== 0) return skipped('needs root, to become another user')
      const options = { program: programOf(release), args: ['--dev'], uid: NOBODY }
      const health = await withAgent(options, (agent) => driverHealth(agent, 'exec'))
      return passIf(/^false .*root/i.test(health), health)
    },
  },
  {
    number: 13,
    title: 'nothing is written below the installation',
    run: (release) => {
      const hashes = (): string =>
        installedFiles(release)
          .map(({ path, data }) => `${path} ${createHash('md5').update(data).digest('hex')}`)
          .join('\n')
      const before = hashes()
      runInstalledProgram(release, 'job', 'status', '--help')
      runInstalledProgram(
        release,
        'config',
        'validate',
        join(release.installation, 'share/examples/server.hcl'),
      )
      run(join(release.installation, 'bin/reeve'), ['version'], {
        env: { HOME: '/nonexistent', NODE_OPTIONS: '--stack-trace-limit=20' },
      })
      return passIf(before === hashes(), 'after commands as root, also with other flags')
    },
  },
  {
    number: 14,
    title: 'through a link, from another directory, with a space in the path',
    run: (release) => {
      const link = join(release.installation, '../link to reeve')
      fs.symlinkSync(join(release.installation, 'bin/reeve'), link)
      const said = run(link, ['version'], {
        cwd: '/',
        env: { HOME: '/nonexistent', PATH: '/usr/bin:/bin' },
      })
      fs.rmSync(link)
      return passIf(said.startsWith(`reeve ${release.version} (commit `), said.trim())
    },
  },
  {
    number: 15,
    title: 'a missing shared library is named with its package',
    run: (release) =>
      inDebian(
        release,
        (program) => `rm -f /usr/lib/*-linux-gnu/libstdc++.so.6* /usr/lib/*-linux-gnu/libatomic.so*
code=0; ${program} version 2>&1 || code=$?; echo "code $code"
`,
        (said) =>
          passIfMatches(said, [/needs glibc .* libstdc\+\+ \(/, /^code 1$/m], 'a sentence, exit 1'),
      ),
  },
  {
    number: 16,
    title: 'a task does not inherit variables of the program',
    run: async (release) => {
      const options = { program: programOf(release), args: ['--dev'] }
      const said = await withAgent(options, (agent) => saidByTask(agent, 'raw_exec'))
      const leaked = said.match(/^(?:LD_LIBRARY_PATH|NODE_\w+|MALLOC_\w+)=.*$/gm) ?? []
      return passIf(leaked.length === 0, leaked.join(' ') || 'none of ours')
    },
  },
  {
    number: 17,
    title: 'with /tmp mounted noexec',
    run: (release) =>
      inDebian(
        release,
        (program) =>
          `mount -t tmpfs -o noexec,nosuid,mode=1777 tmpfs /tmp\n${firstJobScript(program)}`,
        (said) => passIfMatches(said, [HEALTHY], 'a first job'),
      ),
  },
  {
    number: 18,
    title: 'dev-cluster runs from it',
    run: (release) => devCluster(release),
  },
  {
    number: 19,
    title: 'no text speaks of a checkout or npm',
    run: (release) => {
      const own = installedFiles(release).filter(({ path }) =>
        /^(?:program\/.*\.js|bin\/|share\/)/.test(path),
      )
      const found = own.filter(({ data }) => HINT.test(data.toString()))
      return passIf(found.length === 0, found.map(({ path }) => path).join(', ') || 'none')
    },
  },
  {
    number: 20,
    title: 'starts as fast as the checkout',
    run: (release) => {
      const ratios = startUpRatios(release.installation)
      const isRight = ratios.every(({ ratio }) => ratio <= START_RATIO_MAX)
      return passIf(isRight, ratios.map((one) => `${one.name} ${one.ratio.toFixed(2)}`).join(', '))
    },
  },
]

/** One, and what a shared machine makes of one. */
const START_RATIO_MAX = 1.1

/** In a line of code; comments and manifests of packages speak of their own development. */
const HINT =
  /^(?!\s*(?:\*|\/\/|"[\w:-]+": ")).*(?:\bnpm (?:run|start|install|rebuild|ci)\b|of a checkout)/m

const CLUSTER_MS_MAX = 120_000

async function devCluster(release: OpenedRelease): Promise<Outcome> {
  const { spawn } = await import('node:child_process')
  const [program = ''] = programOf(release)
  const child = spawn(program, ['dev-cluster', '--servers', '2'], {
    env: { HOME: '/nonexistent', PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  const add = (data: Buffer): void => void (said += data.toString())
  child.stdout.on('data', add)
  child.stderr.on('data', add)
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null
  try {
    await waitFor(() => isOver() || /leader/i.test(said), 'a leader', CLUSTER_MS_MAX)
    if (/PostgreSQL was not found|does not run as root/.test(said)) return skipped(said.trim())
    return passIfMatches(said, [/leader/i], 'two servers, one of them leads')
  } finally {
    child.kill('SIGINT')
    await waitFor(isOver, 'the end of dev-cluster', CLUSTER_MS_MAX)
  }
}
