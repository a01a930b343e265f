import { v2 } from '@reeve/contract'
import { resource, toOne } from '@reeve/sdk'
import { useState } from 'react'
import { workspaceCan } from '../../actions/governance-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { FormDialog } from '../../parts/form.tsx'
import { AccessValues } from './access-values.tsx'
import { TeamAccessPanel } from './team-access.tsx'
import type { WorkspaceView } from './workspace-runs.tsx'

/** The levels that are chosen by name; `custom` is set right by right. */
const LEVELS = v2.WORKSPACE_ACCESS_LEVELS.filter((level) => level !== 'custom')

/** Teams with access to this workspace beyond what its project grants. */
export function WorkspaceAccessTab({ organization, workspace }: WorkspaceView) {
  const accesses = useRead(['team-workspaces', workspace.id], (api, signal) =>
    api.v2.listTeamWorkspaceAccesses({
      query: { 'filter[workspace][id]': workspace.id, 'page[size]': 100 },
      signal,
    }),
  )
  return (
    <TeamAccessPanel<v2.WorkspaceAccessLevel, v2.TeamWorkspaceAccess>
      organization={organization}
      accesses={accesses}
      none="Only those with access to its project."
      levels={LEVELS}
      least="read"
      refusal={workspaceCan.manageTeams(workspace)}
      calls={{
        give: (api, team, access) => {
          const to = { team: toOne('teams', team), workspace: toOne('workspaces', workspace.id) }
          const body = resource('team-workspaces', { access }, to)
          return api.v2.createTeamWorkspaceAccess({ body })
        },
        change: (api, { id }, access) =>
          api.v2.updateTeamWorkspaceAccess({
            params: { team_workspace_id: id },
            body: resource('team-workspaces', { access }),
          }),
        take: (api, { id }) =>
          api.v2.deleteTeamWorkspaceAccess({ params: { team_workspace_id: id } }),
      }}
      custom={(access, onClose) => <CustomAccess access={access} onClose={onClose} />}
    />
  )
}

interface CustomAccessProps {
  readonly access: v2.TeamWorkspaceAccess
  readonly onClose: () => void
}

function CustomAccess({ access, onClose }: CustomAccessProps) {
  const act = useAct()
  const { access: _level, ...held } = access.attributes
  const [values, setValues] = useState(held)
  const save = async () => {
    const done = await act({
      call: (api) =>
        api.v2.updateTeamWorkspaceAccess({
          params: { team_workspace_id: access.id },
          body: resource('team-workspaces', { access: 'custom', ...values }),
        }),
      done: 'The rights are saved.',
    })
    return done !== undefined
  }
  return (
    <FormDialog title="Rights of the team" action="Save" onSubmit={save} onClose={onClose}>
      <AccessValues title="In the workspace" values={values} onChange={setValues} />
    </FormDialog>
  )
}
