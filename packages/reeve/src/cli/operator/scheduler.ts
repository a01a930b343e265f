import type { SchedulerConfiguration } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import type { Flags } from '../flags.ts'
import { fields } from '../output/table.ts'

const ALGORITHMS = ['binpack', 'spread'] as const
const WORDS = ['true', 'false'] as const

export async function runSchedulerGetConfig({ client, output }: Invocation): Promise<number> {
  const { data } = await client.v1.readSchedulerConfiguration()
  output.show(data.SchedulerConfig, () => configurationText(data.SchedulerConfig))
  return EXIT_CODES.ok
}

function configurationText(configuration: SchedulerConfiguration): string {
  const { PreemptionConfig: preemption } = configuration
  return fields([
    ['Algorithm', configuration.SchedulerAlgorithm],
    ['Memory oversubscription', yesOrNo(configuration.MemoryOversubscriptionEnabled)],
    ['Registration of jobs', configuration.RejectJobRegistration ? 'management only' : 'open'],
    ['Evaluation broker', configuration.PauseEvalBroker ? 'paused' : 'running'],
    ['Preemption by system jobs', yesOrNo(preemption.SystemSchedulerEnabled)],
    ['Preemption by sysbatch jobs', yesOrNo(preemption.SysBatchSchedulerEnabled)],
    ['Preemption by batch jobs', yesOrNo(preemption.BatchSchedulerEnabled)],
    ['Preemption by service jobs', yesOrNo(preemption.ServiceSchedulerEnabled)],
    ['Check index', String(configuration.ModifyIndex)],
  ])
}

function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no'
}

/** Changes what is named and nothing else, also when somebody changes the rest meanwhile. */
export async function runSchedulerSetConfig(invocation: Invocation): Promise<number> {
  const { client, flags, output } = invocation
  const change = changesOf(flags)
  if (Object.keys(change.top).length + Object.keys(change.preemption).length === 0) {
    throw new UsageError('name what to change: --help lists the settings.')
  }
  const { data } = await client.v1.readSchedulerConfiguration()
  const now = data.SchedulerConfig
  const index = flags.whole('check-index') ?? now.ModifyIndex
  const body = {
    ...now,
    ...change.top,
    PreemptionConfig: { ...now.PreemptionConfig, ...change.preemption },
  }
  // Of settings that were never written there is nothing to check.
  const query = now.ModifyIndex === 0 && index === 0 ? {} : { cas: String(index) }
  const said = await client.v1.writeSchedulerConfiguration({ query, body })
  if (!said.data.Updated) {
    throw new CommandFailure('The configuration was modified in the meantime.', {
      code: EXIT_CODES.conflict,
      hint: 'Check it with "reeve operator scheduler get-config", then repeat the command.',
    })
  }
  output.say('Scheduler configuration updated.')
  return EXIT_CODES.ok
}

function changesOf(flags: Flags) {
  const word = (flag: string): boolean | undefined => {
    const given = flags.oneOf(flag, WORDS)
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
  return { top: named(top), preemption: named(preemption) }
}

type Named<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

function named<T extends object>(changes: T): Named<T> {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined)
  // What is left has the types of its members, without undefined.
  return Object.fromEntries(given) as Named<T>
}
