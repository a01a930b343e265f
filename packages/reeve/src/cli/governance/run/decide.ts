import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { CommandError } from '../../failure.ts'
import { omitUndefined } from '../texts.ts'
import { printRun } from './run.ts'

type RunAction = 'applyRun' | 'cancelRun' | 'discardRun' | 'forceCancelRun'

async function performAction(invocation: CommandContext, decision: RunAction): Promise<number> {
  const { args, client, flags } = invocation
  const [runId = ''] = args
  const body = omitUndefined({ comment: flags.string('comment') })
  await client.v2[decision]({ params: { run_id: runId }, body })
  await printRun(invocation, runId)
  return EXIT_CODES.ok
}

export async function runRunApply(invocation: CommandContext): Promise<number> {
  return await performAction(invocation, 'applyRun')
}

export async function runRunDiscard(invocation: CommandContext): Promise<number> {
  return await performAction(invocation, 'discardRun')
}

export async function runRunCancel(invocation: CommandContext): Promise<number> {
  return await performAction(
    invocation,
    invocation.flags.has('force') ? 'forceCancelRun' : 'cancelRun',
  )
}

/**
 * `run override`: overrides failed policy checks (native policies) and task stages (OPA policies).
 */
export async function runRunOverride(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const [runId = ''] = invocation.args
  const params = { run_id: runId }
  const body = omitUndefined({ comment: flags.string('comment') })
  let count = 0
  for await (const check of client.pages('listPolicyChecks', { params })) {
    if (!check.attributes.actions['is-overridable']) continue
    await client.v2.overridePolicyCheck({ params: { policy_check_id: check.id }, body })
    count += 1
  }
  for await (const stage of client.pages('listTaskStages', { params })) {
    if (!stage.attributes.actions['is-overridable']) continue
    await client.v2.overrideTaskStage({ params: { task_stage_id: stage.id }, body })
    count += 1
  }
  if (count === 0) {
    throw new CommandError(`Nothing of run ${runId} can be overridden.`, {
      hint: 'It passed, or a hard level stopped it: see "reeve run show".',
    })
  }
  await printRun(invocation, runId)
  return EXIT_CODES.ok
}
