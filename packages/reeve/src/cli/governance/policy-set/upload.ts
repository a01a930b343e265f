import { v2 } from '@reeve/contract'
import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { CommandFailure } from '../../failure.ts'
import { fileBytes } from '../../input.ts'
import { findPolicySet } from '../find.ts'

/** `policy-set upload SET ARCHIVE`: a new version, whole or not at all. */
export async function runPolicySetUpload(invocation: Invocation): Promise<number> {
  const { client, output } = invocation
  const [name = '', file = ''] = invocation.args
  const { id, attributes } = await findPolicySet(invocation, name)
  const archive = await fileBytes(invocation, file, { bytesMax: v2.POLICY_SET_ARCHIVE_BYTES_MAX })
  const { data: made } = await client.v2.createPolicySetVersion({ params: { policy_set_id: id } })
  const params = { policy_set_version_id: made.data.id }
  await client.v2.uploadPolicySetVersion({ params, body: archive })
  const { data } = await client.v2.readPolicySetVersion({ params })
  const { status, error } = data.data.attributes
  if (status === 'errored') {
    throw new CommandFailure(`The archive was not taken: ${error ?? 'it cannot be read'}`, {
      hint: 'The set is as it was. "reeve policy check DIRECTORY" looks at the files here.',
    })
  }
  output.show(data, () => `Policy set "${attributes.name}" now has the policies of ${file}.`)
  return EXIT_CODES.ok
}
