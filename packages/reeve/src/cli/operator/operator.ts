import type { ClusterLevelResponse, SchedulerConfiguration } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import type { Flags } from '../flags.ts'
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
