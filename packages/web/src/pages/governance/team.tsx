import { v2 } from '@reeve/contract'
import { findIncluded, resource, toMany } from '@reeve/sdk'
import { useState } from 'react'
import { teamCan } from '../../actions/governance-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { quoted } from '../../parts/curl-line.ts'
import { CheckField, ChoiceField, FormDialog, TextField } from '../../parts/form.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { DeleteButton } from './deletion.tsx'
import { findMembers } from './find.ts'
import { crumbsOf, InOrganization, OfOrganization } from './in-organization.tsx'
import { MemberPanel } from './member-panel.tsx'
import { TeamTokens } from './team-tokens.tsx'
import { VISIBILITIES, VISIBILITY_TEXTS, wordsOf } from './team-words.ts'

/** A team: who is in it, and what it may do in the whole organization. */
export function TeamPage({ params }: PageProps<'/organizations/:organization/teams/:teamId'>) {
  return (
    <InOrganization name={params.organization}>
      {({ id }) => <LoadedTeam {...params} organization={id} />}
    </InOrganization>
  )
}

interface LoadedTeamProps {
  readonly organization: string
  readonly teamId: string
}

function LoadedTeam({ organization, teamId }: LoadedTeamProps) {
  const team = useRead(['team', teamId, 'users'], (api, signal) =>
    api.v2.readTeam({
      params: { team_id: teamId },
      query: { include: 'users,organization_memberships' },
      signal,
    }),
  )
  return (
    <QueryView
      query={team}
      what="the team"
      page={{
        title: 'Team',
        crumbs: [
          ...crumbsOf(organization),
          { text: 'Teams', href: paths.organization(organization, 'teams') },
        ],
      }}
    >
      {(document) => (
        <OfOrganization
          name={organization}
          owner={document.data.relationships.organization.data.id}
          hrefIn={(name) => paths.team(name, teamId)}
        >
          <PageHead
            title={document.data.attributes.name}
            crumbs={[
              ...crumbsOf(organization),
              { text: 'Teams', href: paths.organization(organization, 'teams') },
            ]}
            aside={
              <span className="tag">
                seen by {VISIBILITY_TEXTS[document.data.attributes.visibility]}
              </span>
            }
            actions={
              <>
                <EditButton team={document.data} />
                <DeleteButton
                  what={`the team ${document.data.attributes.name}`}
                  body={<p>Its members lose what only this team may do.</p>}
                  refusal={teamCan.destroy(document.data)}
                  call={(api) => api.v2.deleteTeam({ params: { team_id: teamId } })}
                  after={paths.organization(organization, 'teams')}
                />
              </>
            }
          />
          <Members organization={organization} document={document} />
          <AccessPanel team={document.data} />
          <TeamTokens organization={organization} team={document.data} />
          <CommandLine
            cli={`reeve team show --organization ${quoted(organization)} ${quoted(document.data.attributes.name)}`}
            call={{ path: `/api/v2/teams/${teamId}`, query: { include: 'users' } }}
          />
        </OfOrganization>
      )}
    </QueryView>
  )
}

function EditButton({ team }: { readonly team: v2.Team }) {
  const [isEditing, setEditing] = useState(false)
  return (
    <>
      <ActionButton refusal={teamCan.update(team)} onAct={() => setEditing(true)}>
        Edit…
      </ActionButton>
      {isEditing && <EditTeam team={team} onClose={() => setEditing(false)} />}
    </>
  )
}

interface EditTeamProps {
  readonly team: v2.Team
  readonly onClose: () => void
}

function EditTeam({ team, onClose }: EditTeamProps) {
  const act = useAct()
  const { attributes } = team
  const [name, setName] = useState(attributes.name)
  const [visibility, setVisibility] = useState(attributes.visibility)
  const [mayManage, setMayManage] = useState(attributes['allow-member-token-management'])
  const save = async () => {
    const done = await act({
      call: (api) =>
        api.v2.updateTeam({
          params: { team_id: team.id },
          body: resource('teams', {
            name,
            visibility,
            'allow-member-token-management': mayManage,
          }),
        }),
      done: 'The team is saved.',
    })
    return done !== undefined
  }
  return (
    <FormDialog title="Edit the team" action="Save" onSubmit={save} onClose={onClose}>
      <TextField label="Name" attribute="name" value={name} onChange={setName} />
      <ChoiceField
        label="Seen by"
        attribute="visibility"
        value={visibility}
        onChange={setVisibility}
        choices={VISIBILITIES}
        textOf={(one) => VISIBILITY_TEXTS[one]}
      />
      <CheckField
        label="Members make and revoke its tokens"
        attribute="allow-member-token-management"
        value={mayManage}
        onChange={setMayManage}
      />
    </FormDialog>
  )
}

interface MembersProps {
  readonly organization: string
  readonly document: v2.TeamDocument
}

function Members({ organization, document }: MembersProps) {
  const act = useAct()
  const { id, relationships } = document.data
  const members = relationships['organization-memberships'].data.map((membership) => ({
    id: membership.id,
    text: findIncluded(document, membership)?.attributes.email ?? membership.id,
  }))
  const change = async (call: 'addTeamMemberships' | 'removeTeamMemberships', member: string) => {
    const body = toMany('organization-memberships', [member])
    await act({
      call: (api) => api.v2[call]({ params: { team_id: id }, body }),
      done: 'The members of the team are saved.',
    })
  }
  return (
    <MemberPanel
      title="Members"
      label="Member"
      members={members}
      none="Nobody yet. People are invited to the organization first."
      refusal={teamCan.updateMembers(document.data)}
      queryKey={['members', organization]}
      find={(api, text, signal) => findMembers({ api, organization, text, signal })}
      onAdd={(choice) => change('addTeamMemberships', choice.id)}
      onRemove={(member) => change('removeTeamMemberships', member.id)}
    />
  )
}

/** What a team may do everywhere in the organization. */
function AccessPanel({ team }: { readonly team: v2.Team }) {
  const act = useAct()
  const refusal = teamCan.updateAccess(team)
  const held = team.attributes['organization-access']
  const change = async (right: v2.OrganizationAccess, isHeld: boolean) => {
    await act({
      call: (api) =>
        api.v2.updateTeam({
          params: { team_id: team.id },
          body: resource('teams', { 'organization-access': { [right]: isHeld } }),
        }),
      done: `${wordsOf(right)} is ${isHeld ? 'given' : 'taken'}.`,
    })
  }
  return (
    <Panel title="In the whole organization">
      <fieldset className="rights" disabled={refusal !== undefined}>
        <legend>{refusal ?? 'A change takes effect at once.'}</legend>
        {v2.ORGANIZATION_ACCESS.map((right) => (
          <CheckField
            key={right}
            label={wordsOf(right)}
            value={held[right]}
            onChange={(isHeld) => void change(right, isHeld)}
          />
        ))}
      </fieldset>
    </Panel>
  )
}
