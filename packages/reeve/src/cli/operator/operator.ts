import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type ClusterLevelResponse, HEADERS, type SchedulerConfiguration } from '@reeve/contract'
import { ApiError, ConnectionError, type FetchInit } from '@reeve/sdk'
import { copyBytes } from '../alloc/streams.ts'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, systemErrorReason, UsageError } from '../errors.ts'
import type { Flags } from '../flags.ts'
import { readFileOrStdin } from '../input.ts'
import { renderFields, renderTable } from '../output/format.ts'
import { statusStyle } from '../output/color.ts'

export async function runSystemGc({ client, output }: CommandContext): Promise<number> {
  await client.v1.collectGarbage()
  output.printLine('Garbage collection started.')
  return EXIT_CODES.ok
}

export async function runSystemReconcile({ client, output }: CommandContext): Promise<number> {
  await client.v1.reconcileSummaries()
  output.printLine('Job summaries are being recomputed.')
  return EXIT_CODES.ok
}

export async function runServerForceLeave({ args, client, flags, output }: CommandContext) {
  const [node = ''] = args
  const prune = flags.has('prune')
  await client.v1.forceLeaveAgent({ query: { node, ...(prune && { prune }) } })
  output.printLine(`Server "${node}" is ${prune ? 'removed' : 'marked as left'}.`)
  return EXIT_CODES.ok
}

export async function runServerMembers({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.listAgentMembers()
  output.print(data, () => {
    const rows = data.Members.map(({ Name, Addr, Port, Status, Tags }) => {
      return [
        Name,
        `${Addr.includes(':') ? `[${Addr}]` : Addr}:${Port}`,
        output.paint(statusStyle(Status), Status),
        Tags['leader'] === 'true' ? 'leader' : '',
        Tags['build'] ?? '',
        Tags['dc'] ?? '',
        Tags['region'] ?? '',
      ]
    })
    return renderTable(['Name', 'Address', 'Status', '', 'Version', 'Datacenter', 'Region'], rows)
  })
  return EXIT_CODES.ok
}

const ALGORITHMS = ['binpack', 'spread'] as const
const BOOLEAN_WORDS = ['true', 'false'] as const

export async function runSchedulerGetConfig({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.readSchedulerConfiguration()
  output.print(data.SchedulerConfig, () => formatConfiguration(data.SchedulerConfig))
  return EXIT_CODES.ok
}

function formatConfiguration(configuration: SchedulerConfiguration): string {
  const { PreemptionConfig: preemption } = configuration
  return renderFields([
    ['Algorithm', configuration.SchedulerAlgorithm],
    ['Memory oversubscription', formatBoolean(configuration.MemoryOversubscriptionEnabled)],
    ['Registration of jobs', configuration.RejectJobRegistration ? 'management only' : 'open'],
    ['Evaluation broker', configuration.PauseEvalBroker ? 'paused' : 'running'],
    ['Preemption by system jobs', formatBoolean(preemption.SystemSchedulerEnabled)],
    ['Preemption by sysbatch jobs', formatBoolean(preemption.SysBatchSchedulerEnabled)],
    ['Preemption by batch jobs', formatBoolean(preemption.BatchSchedulerEnabled)],
    ['Preemption by service jobs', formatBoolean(preemption.ServiceSchedulerEnabled)],
    ['Check index', String(configuration.ModifyIndex)],
  ])
}

function formatBoolean(value: boolean): string {
  return value ? 'yes' : 'no'
}

/** Changes only the given settings. The index check detects concurrent changes of the others. */
export async function runSchedulerSetConfig(invocation: CommandContext): Promise<number> {
  const { client, flags, output } = invocation
  const change = parseChanges(flags)
  if (Object.keys(change.top).length + Object.keys(change.preemption).length === 0) {
    throw new UsageError('name what to change: --help lists the settings.')
  }
  const { data } = await client.v1.readSchedulerConfiguration()
  const current = data.SchedulerConfig
  const index = flags.integer('check-index') ?? current.ModifyIndex
  const body = {
    ...current,
    ...change.top,
    PreemptionConfig: { ...current.PreemptionConfig, ...change.preemption },
  }
  // Settings that were never written have no index to check.
  const query = current.ModifyIndex === 0 && index === 0 ? {} : { cas: String(index) }
  const response = await client.v1.writeSchedulerConfiguration({ query, body })
  if (!response.data.Updated) {
    throw new CommandError('The configuration was modified in the meantime.', {
      code: EXIT_CODES.conflict,
      hint: 'Check it with "reeve operator scheduler get-config", then repeat the command.',
    })
  }
  output.printLine('Scheduler configuration updated.')
  return EXIT_CODES.ok
}

function parseChanges(flags: Flags) {
  const word = (flag: string): boolean | undefined => {
    const given = flags.oneOf(flag, BOOLEAN_WORDS)
    return given === undefined ? undefined : given === 'true'
  }
  const top = {
    SchedulerAlgorithm: flags.oneOf('scheduler-algorithm', ALGORITHMS),
    MemoryOversubscriptionEnabled: word('memory-oversubscription'),
    RejectJobRegistration: word('reject-job-registration'),
    PauseEvalBroker: word('pause-eval-broker'),
  }
  const preemption = {
    SystemSchedulerEnabled: word('preempt-system'),
    SysBatchSchedulerEnabled: word('preempt-sysbatch'),
    BatchSchedulerEnabled: word('preempt-batch'),
    ServiceSchedulerEnabled: word('preempt-service'),
  }
  return { top: omitUndefined(top), preemption: omitUndefined(preemption) }
}

type DefinedMembers<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

function omitUndefined<T extends object>(changes: T): DefinedMembers<T> {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined)
  // Proof: the remaining entries have the types of their members, without undefined.
  return Object.fromEntries(given) as DefinedMembers<T>
}

export async function runUpgradeStatus({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.readClusterLevel()
  output.print(data, () => formatUpgradeStatus(data))
  return EXIT_CODES.ok
}

function formatUpgradeStatus({ Level, Possible }: ClusterLevelResponse): string {
  const next =
    Level === Possible
      ? 'There is no upgrade to finish.'
      : 'All servers are upgraded. To finish: reeve operator upgrade finish'
  const shown = renderFields([
    ['Cluster level', Level],
    ['Supported by all servers', Possible],
  ])
  return `${shown}\n${next}\n`
}

export async function runUpgradeFinish({ client, output }: CommandContext): Promise<number> {
  const before = await client.v1.readClusterLevel()
  const { data } = await client.v1.raiseClusterLevel()
  output.print(data, () =>
    before.data.Level === data.Level
      ? `The cluster level is ${data.Level} already. Nothing was changed.\n`
      : `The cluster level is ${data.Level}. Versions before ${data.Level} do not start on this state.\n`,
  )
  return EXIT_CODES.ok
}

export async function runAcceptLoss({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.acceptDatabaseLoss()
  output.print(data, () => {
    if (data.Accepted.length === 0) return 'No commits are missing. Nothing was changed.\n'
    const lines = data.Accepted.map(({ FromIndex, ToIndex, Commits }) => {
      return `${Commits} ${Commits === 1 ? 'commit' : 'commits'} (index ${FromIndex} to ${ToIndex})`
    })
    return `Writes are accepted again. Lost for good: ${lines.join('; ')}.\n`
  })
  return EXIT_CODES.ok
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** Maximum body size, because bodies are held in memory; the server rejects larger ones. */
const BODY_BYTES_MAX = 64 * 1024 * 1024

/** `operator api`: sends one request with the address, token and TLS settings of the CLI. */
export async function runOperatorApi(invocation: CommandContext): Promise<number> {
  const { args, flags, host, settings, signal, transport } = invocation
  const path = args[0] ?? ''
  if (!path.startsWith('/')) throw new UsageError(`PATH begins with a slash, as /v1${path}.`)
  const body = await readBody(invocation)
  const method = flags.oneOf('method', METHODS) ?? (body === undefined ? 'GET' : 'POST')
  const response = await transport.fetch(`${settings.address.replace(/\/$/, '')}${path}`, {
    method,
    headers: requestHeaders(invocation, body),
    redirect: 'manual',
    signal,
    ...(body !== undefined && { body }),
  })
  if (flags.has('include')) host.out(formatResponseHead(response))
  if (response.body !== null) await copyBytes(response.body, (bytes) => host.outBytes(bytes))
  if (host.isTerminal) host.out('\n')
  if (!response.ok) host.err(`reeve operator api: the server answered ${response.status}.\n`)
  return response.ok ? EXIT_CODES.ok : EXIT_CODES.failed
}

async function readBody(invocation: CommandContext): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const data = invocation.flags.string('data')
  if (data === undefined) return undefined
  if (!data.startsWith('@')) return new Uint8Array(new TextEncoder().encode(data))
  const tooLong = (bytes: number) =>
    new CommandError(`The body has ${bytes} bytes; at most ${BODY_BYTES_MAX} are sent.`)
  const read = await readFileOrStdin(invocation, data.slice(1), {
    bytesMax: BODY_BYTES_MAX,
    onTooLong: tooLong,
  })
  return new Uint8Array(read)
}

/** Builds the headers. `--header` flags override the content type and the token. */
function requestHeaders(
  { args, flags, settings }: CommandContext,
  body: Uint8Array | undefined,
): FetchInit['headers'] {
  const isGovernance = args[0]?.startsWith('/api/v2') === true
  const token: Record<string, string> =
    settings.token === undefined
      ? {}
      : isGovernance
        ? { authorization: `Bearer ${settings.token}` }
        : { [HEADERS.token.toLowerCase()]: settings.token }
  const type = isGovernance ? 'application/vnd.api+json' : 'application/json'
  const given = flags.strings('header').map((text): readonly [string, string] => {
    const colon = text.indexOf(':')
    if (colon <= 0) throw new UsageError(`--header needs NAME: VALUE, not "${text}".`)
    return [text.slice(0, colon).trim().toLowerCase(), text.slice(colon + 1).trim()]
  })
  return {
    ...token,
    ...(body !== undefined && { 'content-type': type }),
    ...Object.fromEntries(given),
  }
}

/** Response headers with a meaning in this API. */
const PRINTED_HEADERS = ['Content-Type', 'Retry-After', ...Object.values(HEADERS)]

function formatResponseHead({
  status,
  headers,
}: Awaited<ReturnType<CommandContext['transport']['fetch']>>): string {
  const lines = PRINTED_HEADERS.flatMap((name) => {
    const value = headers.get(name)
    return value === null ? [] : [`${name}: ${value}\n`]
  })
  return `HTTP ${status}\n${lines.join('')}\n`
}

/** Number of evaluations and deployments in the bundle, newest first. */
const RECENT_MAX = 200

const ALL_NAMESPACES = { namespace: '*' }
const NEWEST = { ...ALL_NAMESPACES, reverse: true }

type Collect = (invocation: CommandContext) => Promise<unknown>

/**
 * The files of a bundle. None of them contains a secret: lists of jobs carry no environment,
 * templates or variables, and the server redacts tokens and keys in its own configuration.
 */
const FILES: Readonly<Record<string, Collect>> = {
  'agent-self.json': async ({ client }) => (await client.v1.readAgentSelf()).data,
  'agent-health.json': async ({ client }) => (await client.v1.readAgentHealth()).data,
  'members.json': async ({ client }) => (await client.v1.listAgentMembers()).data,
  'leader.json': async ({ client }) => (await client.v1.readLeader()).data,
  'metrics.json': async ({ client }) => (await client.v1.readMetrics()).data,
  'scheduler.json': async ({ client }) => (await client.v1.readSchedulerConfiguration()).data,
  'nodes.json': ({ client, signal }) => all(client.pages('listNodes', { signal })),
  'node-pools.json': async ({ client }) => (await client.v1.listNodePools()).data,
  'namespaces.json': async ({ client }) => (await client.v1.listNamespaces()).data,
  'jobs.json': ({ client, signal }) =>
    all(client.pages('listJobs', { query: ALL_NAMESPACES, signal })),
  'allocations.json': ({ client, signal }) =>
    all(client.pages('listAllocations', { query: ALL_NAMESPACES, signal })),
  'evaluations.json': ({ client, signal }) =>
    all(client.pages('listEvaluations', { query: NEWEST, signal }), RECENT_MAX),
  'deployments.json': ({ client, signal }) =>
    all(client.pages('listDeployments', { query: NEWEST, signal }), RECENT_MAX),
}

async function all(
  items: AsyncIterable<unknown>,
  countMax: number = Infinity,
): Promise<readonly unknown[]> {
  const found: unknown[] = []
  for await (const item of items) {
    found.push(item)
    if (found.length === countMax) break
  }
  return found
}

/** `operator debug`: writes diagnostic data to a directory; failed requests are recorded. */
export async function runOperatorDebug(invocation: CommandContext): Promise<number> {
  const { args, host, output } = invocation
  const stamp = new Date(host.nowMs()).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const name = args[0] ?? `reeve-debug-${stamp}`
  const directory = resolve(host.directory, name)
  await mkdir(directory, { mode: 0o700 }).catch((thrown: unknown) => {
    throw new CommandError(`${name} cannot be created: ${systemErrorReason(thrown)}.`)
  })
  const errors: Record<string, string> = {}
  for (const [file, collect] of Object.entries(FILES)) {
    try {
      await writeJson(directory, file, await collect(invocation))
    } catch (thrown) {
      if (!(thrown instanceof ApiError || thrown instanceof ConnectionError)) throw thrown
      errors[file] = thrown.message
    }
  }
  await writeJson(directory, 'errors.json', errors)
  const failed = Object.keys(errors)
  output.printLine(`${Object.keys(FILES).length - failed.length} files written to ${name}.`)
  if (failed.length > 0)
    output.printNotice(`Not collected (see errors.json): ${failed.join(', ')}.`)
  return failed.length === Object.keys(FILES).length ? EXIT_CODES.failed : EXIT_CODES.ok
}

async function writeJson(directory: string, file: string, data: unknown): Promise<void> {
  await writeFile(join(directory, file), `${JSON.stringify(data, null, 2)}\n`, { mode: 0o600 })
}
