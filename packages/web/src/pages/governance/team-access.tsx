import type { UseQueryResult } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import type { DisabledReason } from '../../actions/verdict.ts'
import { useApiAction } from '../../data/use-act.ts'
import { Panel } from '../../parts/panel.tsx'
import { Picker } from '../../parts/picker.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import type { Api } from '../../session/api.ts'
import { AccessRow } from './access-row.tsx'
import { findTeams } from './find.ts'

/** Common fields of project access and workspace access. */
export interface TeamAccess<Level extends string> {
  readonly id: string
  readonly attributes: { readonly access: Level }
  readonly relationships: { readonly team: { readonly data: { readonly id: string } } }
}

interface TeamAccessPanelProps<Level extends string, Access extends TeamAccess<Level>> {
  readonly organization: string
  readonly accesses: UseQueryResult<{ readonly data: readonly Access[] }>
  /** Shown if no team has access. */
  readonly emptyText: string
  readonly levels: readonly Level[]
  /** The preselected level. */
  readonly defaultLevel: Level
  readonly disabledReason: DisabledReason
  readonly calls: {
    readonly grant: (api: Api, team: string, level: Level) => Promise<unknown>
    readonly change: (api: Api, access: Access, level: Level) => Promise<unknown>
    readonly revoke: (api: Api, access: Access) => Promise<unknown>
  }
  /** Renders the dialog for custom permissions. */
  readonly renderCustomForm: (access: Access, onClose: () => void) => ReactNode
}

/** The teams with access to a resource, and their levels. */
export function TeamAccessPanel<Level extends string, Access extends TeamAccess<Level>>(
  props: TeamAccessPanelProps<Level, Access>,
) {
  const { organization, accesses, emptyText, levels, disabledReason, calls, renderCustomForm } =
    props
  return (
    <Panel title="Teams with access">
      <div className="stack">
        <QueryView query={accesses} what="the teams">
          {({ data }) =>
            data.length === 0 ? (
              <p className="quiet">{emptyText}</p>
            ) : (
              <ul className="members">
                {data.map((access) => (
                  <AccessRow
                    key={access.id}
                    organization={organization}
                    team={access.relationships.team.data.id}
                    level={access.attributes.access}
                    levels={levels}
                    disabledReason={disabledReason}
                    change={(api, next) => calls.change(api, access, next)}
                    remove={(api) => calls.revoke(api, access)}
                    renderCustomForm={(onClose) => renderCustomForm(access, onClose)}
                  />
                ))}
              </ul>
            )
          }
        </QueryView>
        <GrantAccess {...props} />
      </div>
    </Panel>
  )
}

function GrantAccess<Level extends string, Access extends TeamAccess<Level>>(
  props: TeamAccessPanelProps<Level, Access>,
) {
  const { organization, levels, defaultLevel, disabledReason, calls } = props
  const callApi = useApiAction()
  const [level, setLevel] = useState<Level>(defaultLevel)
  const grant = async (team: string, name: string) => {
    await callApi({
      call: (api) => calls.grant(api, team, level),
      successMessage: `${name} has ${level} access.`,
    })
  }
  return (
    <div className="row">
      <select
        aria-label="Level of access"
        value={level}
        disabled={disabledReason !== undefined}
        title={disabledReason}
        onChange={({ target }) =>
          setLevel(levels.find((one) => one === target.value) ?? defaultLevel)
        }
      >
        {levels.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <Picker
        label="Team"
        queryKey={['teams', organization]}
        find={(api, text, signal) => findTeams({ api, organization, text, signal })}
        action="Grant access"
        disabledReason={disabledReason}
        onPick={({ id, text }) => grant(id, text)}
      />
    </div>
  )
}
