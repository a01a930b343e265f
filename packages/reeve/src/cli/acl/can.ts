import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'

/** `acl can`: whether the token in use holds a capability. */
export async function runAclCan({ args, client, output }: Invocation): Promise<number> {
  const [capability = '', name] = args
  const { data } = await client.v1.checkAccess({
    query: { capability, ...(name !== undefined && { name }) },
  })
  const { Allowed, AclEnabled } = data
  output.show(data, () => output.paint(Allowed ? 'good' : 'bad', Allowed ? 'yes' : 'no'))
  if (!AclEnabled) output.note('ACLs are disabled: every request is allowed.')
  return Allowed ? EXIT_CODES.ok : EXIT_CODES.denied
}
