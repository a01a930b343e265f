import { v2 } from '@reeve/contract'
import { ApiError, isPassing, resource, toOne } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { fileBytes } from '../../input.ts'
import { findWorkspace } from '../find.ts'
import { given } from '../texts.ts'
import { showRun, STOPPED_BY_POLICY } from './run.ts'

/** Seconds of one question; it is asked again until there is an answer. */
const WAIT_SECONDS = 30

/** In all others nothing happens before somebody decides, if ever. */
const MOVING: readonly v2.RunStatus[] = [
  'pending',
  'planning',
  'post_plan_running',
  'policy_checking',
]

/** `run create WORKSPACE PLAN`: makes the run, uploads its plan, waits for the policies. */
export async function runRunCreate(invocation: Invocation): Promise<number> {
  const { client, flags, output } = invocation
  const [name = '', file = ''] = invocation.args
  const plan = await fileBytes(invocation, file, { bytesMax: v2.PLAN_UPLOAD_BYTES_MAX })
  const { id } = await findWorkspace(invocation, name)
  const attributes = given({
    message: flags.text('message'),
    'plan-only': flags.has('plan-only') || undefined,
    'auto-apply': flags.has('auto-apply') || undefined,
  })
  const { data } = await client.v2.createRun({
    body: resource('runs', attributes, { workspace: toOne('workspaces', id) }),
  })
  const run = data.data
  output.note(`Run ${run.id} is made; its plan is judged.`)
  await upload(invocation, { runId: run.id, planId: run.relationships.plan.data.id, plan })
  for (;;) {
    const { data: seen } = await client.v2.readRun({
      params: { run_id: run.id },
      query: { wait: WAIT_SECONDS },
      timeoutMs: 0,
    })
    if (!MOVING.includes(seen.data.attributes.status)) break
  }
  const { attributes: judged } = await showRun(invocation, run.id)
  if (STOPPED_BY_POLICY.includes(judged.status)) {
    output.note(`Policies stop it. "reeve run override ${run.id}" passes those that give way.`)
    return EXIT_CODES.refusedByPolicy
  }
  return judged.status === 'errored' ? EXIT_CODES.refusedByPolicy : EXIT_CODES.ok
}

/**
 * A run whose plan is refused would wait for another one for ever, and nobody means to send it. One
 * whose plan did not arrive is left alone: a server that is away cannot be told of it, and one that
 * is busy may have taken it.
 */
async function upload(
  { client, output }: Invocation,
  { runId, planId, plan }: { runId: string; planId: string; plan: Uint8Array },
): Promise<void> {
  try {
    await client.v2.uploadPlan({ params: { plan_id: planId }, body: plan })
  } catch (thrown) {
    if (isPassing(thrown)) {
      output.note(
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
    output.note(
      isCanceled
        ? `Its plan is refused, and run ${runId} is canceled.`
        : `Its plan is refused. "reeve run cancel ${runId}" ends run ${runId}, which waits for one.`,
    )
    throw thrown
  }
}
