import { v2 } from '@reeve/contract'
import { included, resource, toMany } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { table } from '../../output/table.ts'
import { agoFromIso } from '../../output/time.ts'
import { chooseOne } from '../../prefix.ts'
import { findTeam } from '../find.ts'
import { organizationOf } from '../organization.ts'
import { given } from '../texts.ts'

/** A membership with the names of what it joins. */
interface Member {
  readonly membership: v2.OrganizationMembership
  readonly username: string
  readonly teams: readonly string[]
}

/** `org member list`: who belongs to an organization, and who is asked to. */
export async function runOrgMemberList(invocation: Invocation): Promise<number> {
  const { flags, host, output } = invocation
  const members = await membersOf(invocation, {
    q: flags.text('search'),
    'filter[status]': flags.oneOf('status', v2.MEMBERSHIP_STATUSES),
  })
  const rows = members.map(({ membership: { id, attributes }, username, teams }) => [
    attributes.email,
    username,
    output.paint(attributes.status === 'active' ? 'good' : 'warning', attributes.status),
    teams.join(', '),
    agoFromIso(attributes['created-at'], host.nowMs()),
    id,
  ])
  output.show(
    members.map(({ membership }) => membership),
    () =>
      rows.length === 0
        ? 'There is no such member. "reeve org member add EMAIL" invites somebody.'
        : table(['Email', 'Username', 'Status', 'Teams', 'Since', 'ID'], rows),
  )
  return EXIT_CODES.ok
}

interface MemberQuery {
  readonly q?: string | undefined
  readonly 'filter[status]'?: (typeof v2.MEMBERSHIP_STATUSES)[number] | undefined
}

async function membersOf(invocation: Invocation, query: MemberQuery): Promise<readonly Member[]> {
  const pages = invocation.client.eachPage('listOrganizationMemberships', {
    params: await organizationOf(invocation),
    query: { ...query, include: 'user,teams' },
  })
  const members: Member[] = []
  for await (const { data: page } of pages) {
    const users = new Map(included(page, 'users').map((one) => [one.id, one.attributes.username]))
    const teams = new Map(included(page, 'teams').map((one) => [one.id, one.attributes.name]))
    members.push(
      ...page.data.map((membership) => ({
        membership,
        username: users.get(membership.relationships.user.data?.id ?? '') ?? '',
        teams: membership.relationships.teams.data.map(({ id }) => teams.get(id) ?? id),
      })),
    )
  }
  return members
}

/** `org member add EMAIL`: whoever is reached there may accept. */
export async function runOrgMemberAdd(invocation: Invocation): Promise<number> {
  const { args, client, flags, output } = invocation
  const [email = ''] = args
  const params = await organizationOf(invocation)
  const teams = await Promise.all(
    flags.texts('team').map(async (team) => (await findTeam(invocation, team)).id),
  )
  const { data } = await client.v2.createOrganizationMembership({
    params,
    body: resource(
      'organization-memberships',
      { email },
      given({ teams: teams.length === 0 ? undefined : toMany('teams', teams) }),
    ),
  })
  const { organization_name: name } = params
  output.show(data.data, () => `${email} is invited to organization "${name}".`)
  return EXIT_CODES.ok
}

/** `org member remove MEMBER`: by username or email. */
export async function runOrgMemberRemove(invocation: Invocation): Promise<number> {
  const { args, client, output } = invocation
  const [wanted = ''] = args
  const found = (await membersOf(invocation, { q: wanted })).filter(
    ({ membership, username }) =>
      membership.attributes.email.toLowerCase() === wanted.toLowerCase() || username === wanted,
  )
  const { membership } = chooseOne({
    noun: 'member',
    given: wanted,
    found,
    idOf: ({ username }) => username,
    describe: (one) => `${one.username}  ${one.membership.attributes.email}`,
    lists: 'reeve org member list',
  })
  const { organization_name: name } = await organizationOf(invocation)
  await confirm(invocation, `Take ${wanted} out of organization "${name}" and all its teams?`)
  const params = { organization_membership_id: membership.id }
  await client.v2.deleteOrganizationMembership({ params })
  output.say(`${wanted} no longer belongs to organization "${name}".`)
  return EXIT_CODES.ok
}
