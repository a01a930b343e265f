import type { AclRole } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { findOrUndefined } from '../find-or-undefined.ts'
import { idText } from '../find-id.ts'
import { fields, table } from '../output/table.ts'
import { roleLink } from './token.ts'

export async function runRoleList({ client, flags, output }: Invocation): Promise<number> {
  const { data } = await client.v1.listAclRoles()
  output.show(data, () => {
    if (data.length === 0) return 'There are no roles that the token may read.'
    const rows = data.map((role) => [
      idText(role.ID, flags.has('verbose')),
      role.Name,
      policyNames(role),
      role.Description,
    ])
    return table(['ID', 'Name', 'Policies', 'Description'], rows)
  })
  return EXIT_CODES.ok
}

export async function runRoleRead(invocation: Invocation): Promise<number> {
  const role = await findRole(invocation)
  invocation.output.show(role, () => roleText(role))
  return EXIT_CODES.ok
}

export async function runRoleCreate({ client, flags, output }: Invocation): Promise<number> {
  const Name = flags.text('name')
  const policies = flags.texts('policy')
  if (Name === undefined || policies.length === 0) {
    throw new UsageError('a role needs --name and at least one --policy.')
  }
  const Policies = policies.map((policy) => ({ Name: policy }))
  const body = { Name, Description: flags.text('description') ?? '', Policies }
  const { data } = await client.v1.createAclRole({ body })
  output.show(data, () => roleText(data))
  return EXIT_CODES.ok
}

export async function runRoleUpdate(invocation: Invocation): Promise<number> {
  const { client, flags, output } = invocation
  const { ID, Name, Description, Policies } = await findRole(invocation)
  const policies = flags.texts('policy').map((policy) => ({ Name: policy }))
  const body = {
    ID,
    Name: flags.text('name') ?? Name,
    Description: flags.text('description') ?? Description,
    Policies: policies.length === 0 ? Policies : policies,
  }
  const { data } = await client.v1.updateAclRole({ params: { role_id: ID }, body })
  output.show(data, () => roleText(data))
  return EXIT_CODES.ok
}

export async function runRoleDelete(invocation: Invocation): Promise<number> {
  const { client, output } = invocation
  const { ID, Name } = await findRole(invocation)
  await client.v1.deleteAclRole({ params: { role_id: ID } })
  output.say(`Role "${Name}" is deleted.`)
  return EXIT_CODES.ok
}

/** By its id or its name. */
async function findRole({ args, client }: Invocation): Promise<AclRole> {
  const given = args[0] ?? ''
  const link = roleLink(given)
  const found = await findOrUndefined(() =>
    'ID' in link
      ? client.v1.readAclRole({ params: { role_id: link.ID } })
      : client.v1.readAclRoleByName({ params: { role_name: given } }),
  )
  if (found !== undefined) return found.data
  throw new CommandFailure(`There is no role "${given}".`, {
    code: EXIT_CODES.missing,
    hint: 'For a list, run "reeve acl role list".',
  })
}

function roleText(role: AclRole): string {
  return fields([
    ['ID', role.ID],
    ['Name', role.Name],
    ['Description', role.Description],
    ['Policies', policyNames(role)],
  ])
}

function policyNames({ Policies }: AclRole): string {
  return Policies.map(({ Name }) => Name).join(', ')
}
