import type { ItemOf } from '@reeve/sdk'
import type { v2 } from '@reeve/contract'
import type { CommandContext } from '../../command.ts'
import type { Paint } from '../../output/style.ts'
import { formatSetResults } from '../outcomes.ts'

/** Policy results of a run. */
export interface PolicyResults {
  /** Results of native policies, as text with every rule. */
  readonly checks: readonly { readonly status: string; readonly output: string }[]
  /** Results of OPA policies, by policy set. */
  readonly sets: readonly v2.PolicySetVerdict[]
  readonly stages: readonly ItemOf<'listTaskStages'>[]
}

export async function readPolicyResults(
  { client }: CommandContext,
  runId: string,
): Promise<PolicyResults> {
  const params = { run_id: runId }
  const checks: PolicyResults['checks'][number][] = []
  for await (const check of client.pages('listPolicyChecks', { params })) {
    const { data } = await client.v2.readPolicyCheckOutput({
      params: { policy_check_id: check.id },
    })
    checks.push({ status: check.attributes.status, output: data ?? '' })
  }
  const stages: ItemOf<'listTaskStages'>[] = []
  for await (const stage of client.pages('listTaskStages', { params })) stages.push(stage)
  const sets: v2.PolicySetVerdict[] = []
  for (const stage of stages) {
    for (const { id } of stage.relationships['policy-evaluations'].data) {
      const at = { params: { policy_evaluation_id: id } }
      for await (const { attributes } of client.pages('listPolicySetOutcomes', at)) {
        sets.push(attributes)
      }
    }
  }
  return { checks, sets, stages }
}

export function formatRunPolicyResults({ checks, sets }: PolicyResults, paint: Paint): string {
  const texts = checks.map(({ status, output }) => `Policy check ${status}.\n${output.trimEnd()}\n`)
  return [...texts, formatSetResults(sets, paint)].filter((text) => text !== '').join('\n')
}
