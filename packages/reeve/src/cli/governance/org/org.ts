import { resource, type ItemOf } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { UsageError } from '../../failure.ts'
import { fields } from '../../output/table.ts'
import { given, onText, showList, switchOf } from '../texts.ts'

type Organization = ItemOf<'listOrganizations'>

export async function runOrgList(invocation: Invocation): Promise<number> {
  return await showList(invocation, invocation.client.pages('listOrganizations', {}), {
    heading: ['Name', 'Email', 'Created', 'Permissions'],
    row: ({ id, attributes }) => [
      id,
      attributes.email,
      attributes['created-at'],
      onText(attributes.permissions),
    ],
    empty: 'There are no organizations. "reeve org create NAME --email EMAIL" makes one.',
  })
}

export async function runOrgShow(invocation: Invocation): Promise<number> {
  const { data } = await invocation.client.v2.readOrganization({ params: paramsOf(invocation) })
  return show(invocation, data.data, true)
}

export async function runOrgCreate(invocation: Invocation): Promise<number> {
  const { args, client, flags } = invocation
  const email = flags.text('email')
  if (email === undefined) throw new UsageError('An organization needs --email.')
  const attributes = { name: args[0] ?? '', email, ...settingsOf(invocation) }
  const { data } = await client.v2.createOrganization({
    body: resource('organizations', attributes),
  })
  return show(invocation, data.data)
}

export async function runOrgUpdate(invocation: Invocation): Promise<number> {
  const { client, flags } = invocation
  const attributes = given({
    name: flags.text('name'),
    email: flags.text('email'),
    ...settingsOf(invocation),
  })
  const { data } = await client.v2.updateOrganization({
    params: paramsOf(invocation),
    body: resource('organizations', attributes),
  })
  return show(invocation, data.data)
}

export async function runOrgDelete(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.args
  await confirm(invocation, `Delete organization "${name}" with everything in it?`)
  await invocation.client.v2.deleteOrganization({ params: paramsOf(invocation) })
  invocation.output.say(`Organization "${name}" is deleted.`)
  return EXIT_CODES.ok
}

function paramsOf({ args }: Invocation) {
  return { organization_name: args[0] ?? '' }
}

function settingsOf(invocation: Invocation) {
  return given({ 'require-override-comment': switchOf(invocation, 'require-override-comment') })
}

function show({ output }: Invocation, organization: Organization, isWhole = false): number {
  const { id, attributes } = organization
  // Whoever makes or changes one may do everything there: a long line that says nothing.
  const permissions = isWhole ? [['Permissions', onText(attributes.permissions)] as const] : []
  output.show(organization, () =>
    fields([
      ['Name', id],
      ['Email', attributes.email],
      ['Created', attributes['created-at']],
      ['Overrides need a comment', attributes['require-override-comment'] ? 'yes' : 'no'],
      ...permissions,
    ]),
  )
  return EXIT_CODES.ok
}
