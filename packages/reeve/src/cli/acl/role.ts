import type { AclRole } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError, UsageError } from '../failure.ts'
import { undefinedIfNotFound } from '../find-or-undefined.ts'
import { formatId } from '../find-id.ts'
import { renderFields, renderTable } from '../output/table.ts'
import { roleLink } from './token.ts'

export async function runRoleList({ client, flags, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.listAclRoles()
  output.print(data, () => {
    if (data.length === 0) return 'There are no roles that the token may read.'
    const rows = data.map((role) => [
      formatId(role.ID, flags.has('verbose')),
      role.Name,
      policyNames(role),
      role.Description,
    ])
    return renderTable(['ID', 'Name', 'Policies', 'Description'], rows)
  })
  return EXIT_CODES.ok
}

export async function runRoleRead(invocation: CommandContext): Promise<number> {
  const role = await findRole(invocation)
  invocation.output.print(role, () => roleText(role))
  return EXIT_CODES.ok
}

export async function runRoleCreate({ client, flags, output }: CommandContext): Promise<number> {
  const Name = flags.string('name')
  const policies = flags.strings('policy')
  if (Name === undefined || policies.length === 0) {
    throw new UsageError('a role needs --name and at least one --policy.')
  }
  const Policies = policies.map((policy) => ({ Name: policy }))
  const body = { Name, Description: flags.string('description') ?? '', Policies }
  const { data } = await client.v1.createAclRole({ body })
  output.print(data, () => roleText(data))
  return EXIT_CODES.ok
}

export async function runRoleUpdate(invocation: CommandContext): Promise<number> {
  const { client, flags, output } = invocation
  const { ID, Name, Description, Policies } = await findRole(invocation)
  const policies = flags.strings('policy').map((policy) => ({ Name: policy }))
  const body = {
    ID,
    Name: flags.string('name') ?? Name,
    Description: flags.string('description') ?? Description,
    Policies: policies.length === 0 ? Policies : policies,
  }
  const { data } = await client.v1.updateAclRole({ params: { role_id: ID }, body })
  output.print(data, () => roleText(data))
  return EXIT_CODES.ok
}

export async function runRoleDelete(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const { ID, Name } = await findRole(invocation)
  await client.v1.deleteAclRole({ params: { role_id: ID } })
  output.printLine(`Role "${Name}" is deleted.`)
  return EXIT_CODES.ok
}

/** Finds the role with the ID or name in the first argument. */
async function findRole({ args, client }: CommandContext): Promise<AclRole> {
  const given = args[0] ?? ''
  const link = roleLink(given)
  const found = await undefinedIfNotFound(() =>
    'ID' in link
      ? client.v1.readAclRole({ params: { role_id: link.ID } })
      : client.v1.readAclRoleByName({ params: { role_name: given } }),
  )
  if (found !== undefined) return found.data
  throw new CommandError(`There is no role "${given}".`, {
    code: EXIT_CODES.missing,
    hint: 'For a list, run "reeve acl role list".',
  })
}

function roleText(role: AclRole): string {
  return renderFields([
    ['ID', role.ID],
    ['Name', role.Name],
    ['Description', role.Description],
    ['Policies', policyNames(role)],
  ])
}

function policyNames({ Policies }: AclRole): string {
  return Policies.map(({ Name }) => Name).join(', ')
}
