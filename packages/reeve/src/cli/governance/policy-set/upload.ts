import { v2 } from '@reeve/contract'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { CommandError } from '../../failure.ts'
import { readFileOrStdin } from '../../input.ts'
import { findPolicySet } from '../find.ts'

/** `policy-set upload SET ARCHIVE`: uploads a new version, atomically. */
export async function runPolicySetUpload(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const [name = '', file = ''] = invocation.args
  const { id, attributes } = await findPolicySet(invocation, name)
  const archive = await readFileOrStdin(invocation, file, {
    bytesMax: v2.POLICY_SET_ARCHIVE_BYTES_MAX,
  })
  const { data: created } = await client.v2.createPolicySetVersion({
    params: { policy_set_id: id },
  })
  const params = { policy_set_version_id: created.data.id }
  await client.v2.uploadPolicySetVersion({ params, body: archive })
  const { data } = await client.v2.readPolicySetVersion({ params })
  const { status, error } = data.data.attributes
  if (status === 'errored') {
    throw new CommandError(`The archive was not taken: ${error ?? 'it cannot be read'}`, {
      hint: 'The set is as it was. "reeve policy check DIRECTORY" looks at the files here.',
    })
  }
  output.print(data, () => `Policy set "${attributes.name}" now has the policies of ${file}.`)
  return EXIT_CODES.ok
}
