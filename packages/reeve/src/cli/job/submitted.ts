import { ApiError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError, UsageError } from '../failure.ts'
import { suggestCommand } from '../plan/next-command.ts'
import { waitForCompletion } from './job-end.ts'
import { monitorDeployment, type MonitoredDeployment } from '../watch/watch-rollout.ts'

interface Submission {
  /** The response of the server, for `--json`. */
  readonly data: object
  readonly rollout: MonitoredDeployment
  /** The result as text. */
  readonly message: string
}

/** Creates an error if the change was accepted, but the token may not read the evaluation. */
function cannotMonitorError({ status, text }: ApiError): CommandError | undefined {
  if (status !== 403 && status !== 404) return undefined
  return new CommandError(`Submitted, but the evaluation cannot be read: ${text}.`, {
    code: status === 403 ? EXIT_CODES.denied : EXIT_CODES.missing,
    hint: 'Watching requires namespace:read-job; --detach does not watch.',
  })
}

/** Monitors an accepted change, unless `--detach` is set, and returns the exit code. */
export async function monitorSubmission(
  invocation: CommandContext,
  { data, rollout, message }: Submission,
): Promise<number> {
  const { output, flags } = invocation
  if (flags.has('wait') && flags.has('detach')) {
    throw new UsageError('--wait and --detach exclude each other.')
  }
  if (rollout.evalId === '') {
    output.print(data, () => message)
    return EXIT_CODES.ok
  }
  if (flags.has('detach')) {
    const words = ['job', 'status', '--watch', rollout.jobId]
    const watch = suggestCommand(invocation, words, rollout.namespace)
    output.print(data, () => `${message}\nTo watch it:\n\n  ${watch}\n`)
    return EXIT_CODES.ok
  }
  output.printLine(message)
  const { code, state } = await monitorDeployment(invocation, rollout).catch((thrown: unknown) => {
    throw thrown instanceof ApiError ? (cannotMonitorError(thrown) ?? thrown) : thrown
  })
  const { evaluation, deployment, allocations } = state
  if (output.isStructured) {
    const found = { Evaluation: evaluation ?? null, Deployment: deployment ?? null }
    output.print({ ...data, ...found, Allocations: allocations }, () => '')
  }
  if (code !== EXIT_CODES.ok || !flags.has('wait')) return code
  return await waitForCompletion(invocation, rollout)
}
