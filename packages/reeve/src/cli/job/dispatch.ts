import type { Invocation } from '../command.ts'
import { CommandFailure } from '../failure.ts'
import { fileBytes } from '../input.ts'
import { findJobOrTakeId } from './find-job.ts'
import { finishSubmission } from './submitted.ts'

/** The server refuses more; a larger file is not even read. */
const PAYLOAD_BYTES_MAX = 16_384

/** `job dispatch`: an instance of a parameterized job, with its payload and metadata. */
export async function runJobDispatch(invocation: Invocation): Promise<number> {
  const { client, args, flags, output } = invocation
  const [given = '', operand] = args
  const payload = await readPayload(invocation, flags.text('payload') ?? operand)
  const { ID, Namespace } = await findJobOrTakeId(invocation, given)
  const { data } = await client.v1.dispatchJob({
    params: { job_id: ID },
    query: { namespace: Namespace, idempotency_token: flags.text('idempotency-token') },
    body: {
      JobID: ID,
      Payload: payload === undefined ? null : Buffer.from(payload).toString('base64'),
      Meta: flags.pairs('meta'),
      IdPrefixTemplate: flags.text('id-prefix-template'),
      Priority: flags.whole('priority'),
      PolicyOverride: flags.has('policy-override'),
      PolicyOverrideComment: flags.text('override-comment'),
    },
  })
  const { Warnings = '', DispatchedJobID, EvalID } = data
  if (Warnings !== '') output.note(Warnings.trimEnd())
  return await finishSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: DispatchedJobID, evalId: EvalID },
    done: isRepeated(invocation, EvalID)
      ? `Job "${DispatchedJobID}" was dispatched with this token before; nothing new was made.`
      : `Job "${DispatchedJobID}" is dispatched.`,
  })
}

/** API reference: a token that a child has is answered with that child, and no evaluation. */
function isRepeated({ flags }: Invocation, evalId: string): boolean {
  return evalId === '' && flags.text('idempotency-token') !== undefined
}

async function readPayload(
  invocation: Invocation,
  path: string | undefined,
): Promise<Uint8Array | undefined> {
  if (path === undefined) return undefined
  return await fileBytes(invocation, path, { bytesMax: PAYLOAD_BYTES_MAX, tooLong: longPayload })
}

function longPayload(bytes: number): CommandFailure {
  return new CommandFailure(
    `The payload has ${bytes} bytes; a dispatch takes ${PAYLOAD_BYTES_MAX}.`,
    { hint: 'Put it where the task can fetch it, and give its address with --meta.' },
  )
}
