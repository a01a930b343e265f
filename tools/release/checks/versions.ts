/** Two releases of different versions side by side. */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { findPackagedPostgres } from '../../../packages/reeve/src/main/dev-cluster/find-postgres.ts'
import { REPOSITORY_ROOT as root } from '../../source/finding.ts'
import { run, type OpenedRelease } from '../opened.ts'
import {
  freePort,
  startAgent,
  waitFor,
  withAgent,
  withTempFolder,
  writeJob,
  type RunningAgent,
} from './agent.ts'
import { skipped, passIf, type Outcome } from './check.ts'

const STEP_MS_MAX = 60_000

function programOf({ installation }: OpenedRelease): readonly string[] {
  return [join(installation, 'bin/reeve')]
}

/** A node of each version with a server of the other: places a task, reads its log, stops it. */
export async function nodesBesideServers(
  release: OpenedRelease,
  next: OpenedRelease,
): Promise<Outcome> {
  const said: string[] = []
  for (const [server, node] of [
    [release, next],
    [next, release],
  ] as const)
    said.push(await nodeBesideServer(server, node))
  return passIf(true, said.join('; '))
}

async function nodeBesideServer(server: OpenedRelease, node: OpenedRelease): Promise<string> {
  return await withTempFolder(async (folder) => {
    const data = join(folder, 'server')
    const args = ['--server', '--data-dir', data]
    return await withAgent({ program: programOf(server), args }, async (leader) => {
      const token = fs.readFileSync(join(data, 'server/join-token'), 'utf8').trim()
      const client = nodeOptions(node, join(folder, 'node'), [leader], token)
      await withAgent(client, async () => {
        await runsJob(leader, folder, 'side-by-side')
        leader.cli('job', 'stop', '--purge', 'side-by-side')
      })
      return `server ${server.version} with node ${node.version}`
    })
  })
}

function nodeOptions(
  node: OpenedRelease,
  data: string,
  servers: readonly RunningAgent[],
  token: string,
) {
  const joins = servers.flatMap(({ address }) => ['--join', address.replace('http://', '')])
  return {
    program: programOf(node),
    args: ['--client', '--data-dir', data, ...joins],
    env: { REEVE_JOIN_TOKEN: token },
    isNode: true,
  }
}

async function runsJob(server: RunningAgent, folder: string, name: string): Promise<void> {
  server.cli('job', 'run', '--detach', writeJob(folder, name))
  await isRunning(server, name)
  const logs = (): string => server.cli('alloc', 'logs', '--job', name)
  await waitFor(() => logs().includes('ready'), 'the log of the task', STEP_MS_MAX)
}

async function isRunning(server: RunningAgent, name: string): Promise<void> {
  const isTrue = async (): Promise<boolean> => {
    const found = await server.get(`/v1/job/${name}/allocations`).catch(() => [])
    return JSON.stringify(found).includes('"ClientStatus":"running"')
  }
  await waitFor(isTrue, `${name} to run`, STEP_MS_MAX)
}

/**
 * A leader of one version, then one of the other, then back: each sees what the other wrote, the
 * task of a node keeps its process, and the older server starts again after the newer one has led.
 */
export async function serversOnOneDatabase(
  release: OpenedRelease,
  next: OpenedRelease,
): Promise<Outcome> {
  const programs = postgresPrograms()
  if (programs === undefined) return skipped('PostgreSQL is not installed')
  return await withTempFolder(
    async (folder) =>
      await withPostgres(programs, folder, async (database) => {
        const cluster = { database, folder, key: 'k'.repeat(32), ports: new Map<string, number>() }
        const token = 't'.repeat(32)
        const [older, newer] = await Promise.all([
          startServer(release, { ...cluster, token }),
          startServer(next, { ...cluster, token }),
        ])
        const running = new Map([
          [release, older],
          [next, newer],
        ])
        const node = await startAgent(
          nodeOptions(release, join(folder, 'node'), [older, newer], token),
        )
        try {
          const [first] = await leading(running)
          const of = first === release ? next : release
          await runsJob(serverOf(running, first), folder, 'kept')
          const task = taskPids()
          await serverOf(running, first).stop()
          await leads(serverOf(running, of))
          await runsJob(serverOf(running, of), folder, 'after')
          running.set(first, await startServer(first, { ...cluster, token }))
          await serverOf(running, of).stop()
          await leads(serverOf(running, first))
          await isRunning(serverOf(running, first), 'after')
          running.set(of, await startServer(of, { ...cluster, token }))
          const kept = task.every((pid) => taskPids().includes(pid))
          for (const job of ['kept', 'after'])
            serverOf(running, first).cli('job', 'stop', '--purge', job)
          const order = [first, of, first].map(({ version }) => version).join(', ')
          return passIf(kept, `led by ${order}; ${task.length} task kept its process: ${kept}`)
        } finally {
          await node.stop()
          for (const server of running.values()) await server.stop()
        }
      }),
  )
}

function serverOf(
  running: ReadonlyMap<OpenedRelease, RunningAgent>,
  of: OpenedRelease,
): RunningAgent {
  const server = running.get(of)
  if (server === undefined) throw new Error(`no server of ${of.version} runs`)
  return server
}

interface Cluster {
  readonly database: string
  readonly folder: string
  readonly key: string
  readonly token: string
  /** A server that starts again is found where it was. */
  readonly ports: Map<string, number>
}

async function startServer(of: OpenedRelease, cluster: Cluster): Promise<RunningAgent> {
  const { database, folder, key, token, ports } = cluster
  const port = ports.get(of.version) ?? (await freePort())
  ports.set(of.version, port)
  const data = join(folder, `server-${of.version}`)
  const own = ['--data-dir', data, '--node-name', `server-${of.version}`]
  return await startAgent({
    program: programOf(of),
    args: ['--server', '--database', database, ...own],
    env: { REEVE_CLUSTER_KEY: key, REEVE_JOIN_TOKEN: token },
    port,
  })
}

async function leading(
  running: ReadonlyMap<OpenedRelease, RunningAgent>,
): Promise<readonly [OpenedRelease, RunningAgent]> {
  for (const [release, server] of running) if (await isLeader(server)) return [release, server]
  throw new Error('no server leads')
}

async function isLeader(server: RunningAgent): Promise<boolean> {
  const leader = await server.get('/v1/status/leader').catch(() => '')
  return leader !== '' && server.address.endsWith(String(leader))
}

async function leads(server: RunningAgent): Promise<void> {
  await waitFor(() => isLeader(server), `${server.address} to lead`, STEP_MS_MAX)
}

function taskPids(): readonly string[] {
  const { stdout } = spawnSync('pgrep', ['-x', 'sleep', '-a'], { encoding: 'utf8' })
  return stdout
    .split('\n')
    .filter((line) => line.endsWith('sleep 100000'))
    .map((line) => line.split(' ')[0] ?? '')
}

const FOLDER = '/usr/lib/postgresql'

/** Those of the machine, or of the development package of the checkout. */
function postgresPrograms(): string | undefined {
  const version = fs.existsSync(FOLDER) ? fs.readdirSync(FOLDER).toSorted().at(-1) : undefined
  if (version !== undefined) return join(FOLDER, version, 'bin')
  return findPackagedPostgres(root, isRoot)
}

const isRoot = process.getuid?.() === 0

/** PostgreSQL refuses to run as root. */
function postgresAccount(): string {
  const isThere = spawnSync('id', ['postgres']).status === 0
  return isThere ? 'postgres' : 'nobody'
}

async function withPostgres<T>(
  programs: string,
  folder: string,
  use: (database: string) => Promise<T>,
): Promise<T> {
  const data = join(folder, 'postgres')
  const account = postgresAccount()
  const port = await freePort()
  fs.mkdirSync(data)
  const asOwner = (program: string, ...args: string[]): string => {
    const command = [join(programs, program), ...args]
    if (!isRoot) return run(command[0] ?? '', command.slice(1))
    const group = run('id', ['-g', account]).trim()
    return run('setpriv', [`--reuid=${account}`, `--regid=${group}`, '--clear-groups', ...command])
  }
  if (isRoot) run('chown', [account, data])
  asOwner('initdb', '-D', data, '-A', 'trust', '-U', 'postgres', '--no-sync', '-E', 'UTF8')
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${data}`
  asOwner('pg_ctl', '-D', data, '-o', settings, '-l', join(data, 'log'), '-w', 'start')
  try {
    return await use(`postgres://postgres@127.0.0.1:${port}/postgres`)
  } finally {
    asOwner('pg_ctl', '-D', data, '-m', 'immediate', 'stop')
  }
}
