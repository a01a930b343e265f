import type { CommandContext } from '../command.ts'
import { CommandError } from '../failure.ts'
import { readFileOrStdin } from '../input.ts'
import { findJobOrUseId } from './find-job.ts'
import { monitorSubmission } from './submitted.ts'

/** The payload limit of the server; larger files are not read. */
const PAYLOAD_BYTES_MAX = 16_384

/** `job dispatch`: creates a child of a parameterized job with payload and metadata. */
export async function runJobDispatch(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output } = invocation
  const [given = '', operand] = args
  const payload = await readPayload(invocation, flags.string('payload') ?? operand)
  const { ID, Namespace } = await findJobOrUseId(invocation, given)
  const { data } = await client.v1.dispatchJob({
    params: { job_id: ID },
    query: { namespace: Namespace, idempotency_token: flags.string('idempotency-token') },
    body: {
      JobID: ID,
      Payload: payload === undefined ? null : Buffer.from(payload).toString('base64'),
      Meta: flags.keyValues('meta'),
      IdPrefixTemplate: flags.string('id-prefix-template'),
      Priority: flags.integer('priority'),
      PolicyOverride: flags.has('policy-override'),
      PolicyOverrideComment: flags.string('override-comment'),
    },
  })
  const { Warnings = '', DispatchedJobID, EvalID } = data
  if (Warnings !== '') output.printNotice(Warnings.trimEnd())
  return await monitorSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: DispatchedJobID, evalId: EvalID },
    message: isDuplicateDispatch(invocation, EvalID)
      ? `Job "${DispatchedJobID}" was dispatched with this token before; nothing new was made.`
      : `Job "${DispatchedJobID}" is dispatched.`,
  })
}

/**
 * Whether the dispatch was a duplicate: for a known token the API returns the existing child job
 * without an evaluation.
 */
function isDuplicateDispatch({ flags }: CommandContext, evalId: string): boolean {
  return evalId === '' && flags.string('idempotency-token') !== undefined
}

async function readPayload(
  invocation: CommandContext,
  path: string | undefined,
): Promise<Uint8Array | undefined> {
  if (path === undefined) return undefined
  return await readFileOrStdin(invocation, path, {
    bytesMax: PAYLOAD_BYTES_MAX,
    onTooLong: payloadTooLong,
  })
}

function payloadTooLong(bytes: number): CommandError {
  return new CommandError(
    `The payload has ${bytes} bytes; a dispatch takes ${PAYLOAD_BYTES_MAX}.`,
    { hint: 'Put it where the task can fetch it, and give its address with --meta.' },
  )
}
