import { resource, type ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { UsageError } from '../../failure.ts'
import { renderFields } from '../../output/table.ts'
import { omitUndefined, enabledNames, printList, booleanFlag } from '../texts.ts'

type Organization = ItemOf<'listOrganizations'>

export async function runOrgList(invocation: CommandContext): Promise<number> {
  return await printList(invocation, invocation.client.pages('listOrganizations', {}), {
    heading: ['Name', 'Email', 'Created', 'Permissions'],
    row: ({ id, attributes }) => [
      id,
      attributes.email,
      attributes['created-at'],
      enabledNames(attributes.permissions),
    ],
    empty: 'There are no organizations. "reeve org create NAME --email EMAIL" makes one.',
  })
}

export async function runOrgShow(invocation: CommandContext): Promise<number> {
  const { data } = await invocation.client.v2.readOrganization({
    params: organizationParams(invocation),
  })
  return printOrganization(invocation, data.data, true)
}

export async function runOrgCreate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const email = flags.string('email')
  if (email === undefined) throw new UsageError('An organization needs --email.')
  const attributes = { name: args[0] ?? '', email, ...settingsOf(invocation) }
  const { data } = await client.v2.createOrganization({
    body: resource('organizations', attributes),
  })
  return printOrganization(invocation, data.data)
}

export async function runOrgUpdate(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const attributes = omitUndefined({
    name: flags.string('name'),
    email: flags.string('email'),
    ...settingsOf(invocation),
  })
  const { data } = await client.v2.updateOrganization({
    params: organizationParams(invocation),
    body: resource('organizations', attributes),
  })
  return printOrganization(invocation, data.data)
}

export async function runOrgDelete(invocation: CommandContext): Promise<number> {
  const [name = ''] = invocation.args
  await confirm(invocation, `Delete organization "${name}" with everything in it?`)
  await invocation.client.v2.deleteOrganization({ params: organizationParams(invocation) })
  invocation.output.printLine(`Organization "${name}" is deleted.`)
  return EXIT_CODES.ok
}

function organizationParams({ args }: CommandContext) {
  return { organization_name: args[0] ?? '' }
}

function settingsOf(invocation: CommandContext) {
  return omitUndefined({
    'require-override-comment': booleanFlag(invocation, 'require-override-comment'),
  })
}

function printOrganization(
  { output }: CommandContext,
  organization: Organization,
  showPermissions = false,
): number {
  const { id, attributes } = organization
  // After a create or update the list is omitted: the caller has all permissions.
  const permissions = showPermissions
    ? [['Permissions', enabledNames(attributes.permissions)] as const]
    : []
  output.print(organization, () =>
    renderFields([
      ['Name', id],
      ['Email', attributes.email],
      ['Created', attributes['created-at']],
      ['Overrides need a comment', attributes['require-override-comment'] ? 'yes' : 'no'],
      ...permissions,
    ]),
  )
  return EXIT_CODES.ok
}
