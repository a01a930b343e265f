import { ApiError } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { nextCommand } from '../plan/next-command.ts'
import { waitForEnd } from './job-end.ts'
import { watchRollout, type Rollout } from '../watch/watch-rollout.ts'

interface Submitted {
  /** What the server answered, for machines. */
  readonly data: object
  readonly rollout: Rollout
  /** What was done, for people. */
  readonly done: string
}

/** To who may not read it an evaluation is not there; what was asked for is done all the same. */
function unseen({ status, text }: ApiError): CommandFailure | undefined {
  if (status !== 403 && status !== 404) return undefined
  return new CommandFailure(`Submitted, but the evaluation cannot be read: ${text}.`, {
    code: status === 403 ? EXIT_CODES.denied : EXIT_CODES.missing,
    hint: 'Watching requires namespace:read-job; --detach does not watch.',
  })
}

/** After a change was accepted: watches what becomes of it, unless that is not wanted. */
export async function finishSubmission(
  invocation: Invocation,
  { data, rollout, done }: Submitted,
): Promise<number> {
  const { output, flags } = invocation
  if (flags.has('wait') && flags.has('detach')) {
    throw new UsageError('--wait and --detach exclude each other.')
  }
  if (rollout.evalId === '') {
    output.show(data, () => done)
    return EXIT_CODES.ok
  }
  if (flags.has('detach')) {
    const words = ['job', 'status', '--watch', rollout.jobId]
    const watch = nextCommand(invocation, words, rollout.namespace)
    output.show(data, () => `${done}\nTo watch it:\n\n  ${watch}\n`)
    return EXIT_CODES.ok
  }
  output.say(done)
  const { code, state } = await watchRollout(invocation, rollout).catch((thrown: unknown) => {
    throw thrown instanceof ApiError ? (unseen(thrown) ?? thrown) : thrown
  })
  const { evaluation, deployment, allocations } = state
  if (output.isForMachines) {
    const found = { Evaluation: evaluation ?? null, Deployment: deployment ?? null }
    output.show({ ...data, ...found, Allocations: allocations }, () => '')
  }
  if (code !== EXIT_CODES.ok || !flags.has('wait')) return code
  return await waitForEnd(invocation, rollout)
}
