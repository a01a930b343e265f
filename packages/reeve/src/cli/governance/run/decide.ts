import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { CommandFailure } from '../../failure.ts'
import { given } from '../texts.ts'
import { showRun } from './run.ts'

type Decision = 'applyRun' | 'cancelRun' | 'discardRun' | 'forceCancelRun'

async function decide(invocation: Invocation, decision: Decision): Promise<number> {
  const { args, client, flags } = invocation
  const [runId = ''] = args
  const body = given({ comment: flags.text('comment') })
  await client.v2[decision]({ params: { run_id: runId }, body })
  await showRun(invocation, runId)
  return EXIT_CODES.ok
}

export async function runRunApply(invocation: Invocation): Promise<number> {
  return await decide(invocation, 'applyRun')
}

export async function runRunDiscard(invocation: Invocation): Promise<number> {
  return await decide(invocation, 'discardRun')
}

export async function runRunCancel(invocation: Invocation): Promise<number> {
  return await decide(invocation, invocation.flags.has('force') ? 'forceCancelRun' : 'cancelRun')
}

/** Native policies and the others are overridden in two places; a person means both. */
export async function runRunOverride(invocation: Invocation): Promise<number> {
  const { client, flags } = invocation
  const [runId = ''] = invocation.args
  const params = { run_id: runId }
  const body = given({ comment: flags.text('comment') })
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
    throw new CommandFailure(`Nothing of run ${runId} can be overridden.`, {
      hint: 'It passed, or a hard level stopped it: see "reeve run show".',
    })
  }
  await showRun(invocation, runId)
  return EXIT_CODES.ok
}
