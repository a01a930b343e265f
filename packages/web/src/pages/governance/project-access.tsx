import { v2 } from '@reeve/contract'
import { resource, toOne } from '@reeve/sdk'
import { useState } from 'react'
import { projectDisabledReason } from '../../actions/governance-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { FormDialog } from '../../parts/form.tsx'
import { Panel } from '../../parts/panel.tsx'
import { PermissionNotice } from '../../parts/refused.tsx'
import { CustomPermissionFields } from './access-values.tsx'
import { TeamAccessPanel } from './team-access.tsx'

interface ProjectAccessProps {
  readonly organization: string
  readonly project: v2.Project
}

/** The named access levels; `custom` is set permission by permission. */
const LEVELS = v2.PROJECT_ACCESS_LEVELS.filter((level) => level !== 'custom')

/** The teams with access to the project, or why the caller cannot read them. */
export function ProjectAccessPanel(props: ProjectAccessProps) {
  const disabledReason = projectDisabledReason.readTeams(props.project)
  if (disabledReason === undefined) return <AccessList {...props} />
  return (
    <Panel title="Teams with access">
      <PermissionNotice reason={disabledReason} />
    </Panel>
  )
}

function AccessList({ organization, project }: ProjectAccessProps) {
  const accesses = useApiQuery(['team-projects', project.id], (api, signal) =>
    api.v2.listTeamProjectAccesses({
      query: { 'filter[project][id]': project.id, 'page[size]': 100 },
      signal,
    }),
  )
  return (
    <TeamAccessPanel<v2.ProjectAccessLevel, v2.TeamProjectAccess>
      organization={organization}
      accesses={accesses}
      emptyText="Only teams with organization-wide permissions."
      levels={LEVELS}
      defaultLevel="read"
      disabledReason={projectDisabledReason.manageTeams(project)}
      calls={{
        grant: (api, team, access) => {
          const to = { team: toOne('teams', team), project: toOne('projects', project.id) }
          const body = resource('team-projects', { access }, to)
          return api.v2.createTeamProjectAccess({ body })
        },
        change: (api, { id }, access) =>
          api.v2.updateTeamProjectAccess({
            params: { team_project_id: id },
            body: resource('team-projects', { access }),
          }),
        revoke: (api, { id }) =>
          api.v2.deleteTeamProjectAccess({ params: { team_project_id: id } }),
      }}
      renderCustomForm={(access, onClose) => <CustomAccess access={access} onClose={onClose} />}
    />
  )
}

interface CustomAccessProps {
  readonly access: v2.TeamProjectAccess
  readonly onClose: () => void
}

function CustomAccess({ access, onClose }: CustomAccessProps) {
  const callApi = useApiAction()
  const [project, setProject] = useState(access.attributes['project-access'])
  const [workspaces, setWorkspaces] = useState(access.attributes['workspace-access'])
  const save = async () => {
    const attributes = {
      access: 'custom',
      'project-access': project,
      'workspace-access': workspaces,
    } as const
    const result = await callApi({
      call: (api) =>
        api.v2.updateTeamProjectAccess({
          params: { team_project_id: access.id },
          body: resource('team-projects', attributes),
        }),
      successMessage: 'The rights are saved.',
    })
    return result !== undefined
  }
  return (
    <FormDialog title="Rights of the team" action="Save" onSubmit={save} onClose={onClose}>
      <CustomPermissionFields title="In the project" values={project} onChange={setProject} />
      <CustomPermissionFields
        title="In its workspaces"
        values={workspaces}
        onChange={setWorkspaces}
      />
    </FormDialog>
  )
}
