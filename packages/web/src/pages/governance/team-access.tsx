import type { UseQueryResult } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import type { Verdict } from '../../actions/verdict.ts'
import { useAct } from '../../data/use-act.ts'
import { Panel } from '../../parts/panel.tsx'
import { Picker } from '../../parts/picker.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import type { Api } from '../../session/api.ts'
import { AccessRow } from './access-row.tsx'
import { findTeams } from './find.ts'

/** What both kinds of access, to projects and to workspaces, have. */
export interface TeamAccess<Level extends string> {
  readonly id: string
  readonly attributes: { readonly access: Level }
  readonly relationships: { readonly team: { readonly data: { readonly id: string } } }
}

interface TeamAccessPanelProps<Level extends string, Access extends TeamAccess<Level>> {
  readonly organization: string
  readonly accesses: UseQueryResult<{ readonly data: readonly Access[] }>
  /** Said when no team has one. */
  readonly none: string
  readonly levels: readonly Level[]
  /** What a team is given when nothing else is chosen. */
  readonly least: Level
  readonly refusal: Verdict
  readonly calls: {
    readonly give: (api: Api, team: string, level: Level) => Promise<unknown>
    readonly change: (api: Api, access: Access, level: Level) => Promise<unknown>
    readonly take: (api: Api, access: Access) => Promise<unknown>
  }
  /** The form of the rights one by one, in a window. */
  readonly custom: (access: Access, onClose: () => void) => ReactNode
}

/** Which teams may use something, and how. */
export function TeamAccessPanel<Level extends string, Access extends TeamAccess<Level>>(
  props: TeamAccessPanelProps<Level, Access>,
) {
  const { organization, accesses, none, levels, refusal, calls, custom } = props
  return (
    <Panel title="Teams with access">
      <div className="stack">
        <QueryView query={accesses} what="the teams">
          {({ data }) =>
            data.length === 0 ? (
              <p className="quiet">{none}</p>
            ) : (
              <ul className="members">
                {data.map((access) => (
                  <AccessRow
                    key={access.id}
                    organization={organization}
                    team={access.relationships.team.data.id}
                    level={access.attributes.access}
                    levels={levels}
                    refusal={refusal}
                    change={(api, next) => calls.change(api, access, next)}
                    remove={(api) => calls.take(api, access)}
                    custom={(onClose) => custom(access, onClose)}
                  />
                ))}
              </ul>
            )
          }
        </QueryView>
        <Give {...props} />
      </div>
    </Panel>
  )
}

function Give<Level extends string, Access extends TeamAccess<Level>>(
  props: TeamAccessPanelProps<Level, Access>,
) {
  const { organization, levels, least, refusal, calls } = props
  const act = useAct()
  const [level, setLevel] = useState<Level>(least)
  const give = async (team: string, name: string) => {
    await act({
      call: (api) => calls.give(api, team, level),
      done: `${name} has ${level} access.`,
    })
  }
  return (
    <div className="row">
      <select
        aria-label="Level of access"
        value={level}
        disabled={refusal !== undefined}
        title={refusal}
        onChange={({ target }) => setLevel(levels.find((one) => one === target.value) ?? least)}
      >
        {levels.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <Picker
        label="Team"
        queryKey={['teams', organization]}
        find={(api, text, signal) => findTeams({ api, organization, text, signal })}
        action="Give access"
        refusal={refusal}
        onPick={({ id, text }) => give(id, text)}
      />
    </div>
  )
}
