import { v2 } from '@reeve/contract'
import { ApiError, isTransient, resource, toOne } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { readFileOrStdin } from '../../input.ts'
import { findWorkspace } from '../find.ts'
import { omitUndefined } from '../texts.ts'
import { printRun, BLOCKED_BY_POLICY } from './run.ts'

/** Duration of one long-polling request; requests are repeated until the run settles. */
const WAIT_SECONDS_PER_REQUEST = 30

/** Statuses that change without a user action. */
const IN_PROGRESS: readonly v2.RunStatus[] = [
  'pending',
  'planning',
  'post_plan_running',
  'policy_checking',
]

/**
 * `run create WORKSPACE PLAN`: creates a run, uploads its plan and waits for the policy results.
 */
export async function runRunCreate(invocation: CommandContext): Promise<number> {
  const { client, flags, output } = invocation
  const [name = '', file = ''] = invocation.args
  const plan = await readFileOrStdin(invocation, file, { bytesMax: v2.PLAN_UPLOAD_BYTES_MAX })
  const { id } = await findWorkspace(invocation, name)
  const attributes = omitUndefined({
    message: flags.string('message'),
    'plan-only': flags.has('plan-only') || undefined,
    'auto-apply': flags.has('auto-apply') || undefined,
  })
  const { data } = await client.v2.createRun({
    body: resource('runs', attributes, { workspace: toOne('workspaces', id) }),
  })
  const run = data.data
  output.printNotice(`Run ${run.id} is made; its plan is judged.`)
  await uploadPlan(invocation, { runId: run.id, planId: run.relationships.plan.data.id, plan })
  for (;;) {
    const { data: current } = await client.v2.readRun({
      params: { run_id: run.id },
      query: { wait: WAIT_SECONDS_PER_REQUEST },
      timeoutMs: 0,
    })
    if (!IN_PROGRESS.includes(current.data.attributes.status)) break
  }
  const { attributes: evaluated } = await printRun(invocation, run.id)
  if (BLOCKED_BY_POLICY.includes(evaluated.status)) {
    output.printNotice(
      `Policies stop it. "reeve run override ${run.id}" passes those that give way.`,
    )
    return EXIT_CODES.refusedByPolicy
  }
  return evaluated.status === 'errored' ? EXIT_CODES.refusedByPolicy : EXIT_CODES.ok
}

/**
 * Uploads the plan. If the server rejects it, the run is canceled, because it would wait for a plan
 * forever. If the upload fails in transit, the run is kept: the server may have received the plan.
 */
async function uploadPlan(
  { client, output }: CommandContext,
  { runId, planId, plan }: { runId: string; planId: string; plan: Uint8Array },
): Promise<void> {
  try {
    await client.v2.uploadPlan({ params: { plan_id: planId }, body: plan })
  } catch (thrown) {
    if (isTransient(thrown)) {
      output.printNotice(
        `Its plan may not have arrived. "reeve run show ${runId}" tells what became of it, ` +
          `"reeve run cancel ${runId}" ends it.`,
      )
      throw thrown
    }
    if (!(thrown instanceof ApiError)) throw thrown
    const isCanceled = await client.v2.cancelRun({ params: { run_id: runId }, body: {} }).then(
      () => true,
      () => false,
    )
    output.printNotice(
      isCanceled
        ? `Its plan is refused, and run ${runId} is canceled.`
        : `Its plan is refused. "reeve run cancel ${runId}" ends run ${runId}, which waits for one.`,
    )
    throw thrown
  }
}
