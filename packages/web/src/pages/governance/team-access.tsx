import type { UseQueryResult } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { v2 } from '@reeve/contract'
import { ActionButton } from '../../components/action-button.tsx'
import { CheckField, ChoiceField } from '../../components/form.tsx'
import { Icon } from '../../components/icon.tsx'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import { useApiAction } from '../../data/api-action.ts'
import { Panel } from '../../components/page.tsx'
import { Picker } from '../../components/picker.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { useApiQuery } from '../../data/api-query.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { Api } from '../../session/api.ts'
import { findTeams } from './member-panel.tsx'
import { permissionLabel } from './labels.ts'

/** Common fields of project access and workspace access. */
interface TeamAccess<Level extends string> {
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

interface AccessRowProps<Level extends string> {
  readonly organization: string
  /** ID of the team. */
  readonly team: string
  readonly level: Level
  readonly levels: readonly Level[]
  readonly disabledReason: DisabledReason
  readonly change: (api: Api, level: Level) => Promise<unknown>
  readonly remove: (api: Api) => Promise<unknown>
  readonly renderCustomForm: (onClose: () => void) => ReactNode
}

/** A team and its access level, which is changed in place or permission by permission. */
function AccessRow<Level extends string>(props: AccessRowProps<Level>) {
  const { organization, team, level, levels, disabledReason, change, remove, renderCustomForm } =
    props
  const callApi = useApiAction()
  const [isCustom, setCustom] = useState(false)
  const { data } = useApiQuery(['team', team], (api, signal) =>
    api.v2.readTeam({ params: { team_id: team }, signal }),
  )
  const name = data?.data.attributes.name ?? team
  const choose = async (text: string) => {
    const next = levels.find((one) => one === text)
    if (next === undefined) return
    await callApi({
      call: (api) => change(api, next),
      successMessage: `${name} has ${next} access.`,
    })
  }
  const revoke = async () => {
    if (disabledReason === undefined)
      await callApi({ call: remove, successMessage: `${name} no longer has access of its own.` })
  }
  const isNamedLevel = levels.includes(level)
  return (
    <li>
      <Link href={paths.team(organization, team)}>{name}</Link>
      <select
        aria-label={`Access of ${name}`}
        value={level}
        disabled={disabledReason !== undefined}
        title={disabledReason}
        onChange={({ target }) => void choose(target.value)}
      >
        {!isNamedLevel && <option>{level}</option>}
        {levels.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <ActionButton disabledReason={disabledReason} onAction={() => setCustom(true)}>
        Permissions…<span className="hidden"> of {name}</span>
      </ActionButton>
      <button
        type="button"
        className="icon-button"
        aria-disabled={disabledReason !== undefined}
        title={disabledReason}
        onClick={() => void revoke()}
      >
        <Icon name="close" label={`Revoke the access of ${name}`} />
      </button>
      {isCustom && renderCustomForm(() => setCustom(false))}
    </li>
  )
}

/** The permissions of a `custom` access by name: booleans or enums. */
type CustomPermissions = Readonly<Record<string, string | boolean>>

interface CustomPermissionFieldsProps<V extends CustomPermissions> {
  readonly title: string
  readonly values: V
  readonly onChange: (values: V) => void
}

const PERMISSION_CHOICES: Readonly<Record<string, readonly string[]>> = v2.ACCESS_VALUES

/** One field for each permission of a custom access. */
export function CustomPermissionFields<V extends CustomPermissions>(
  props: CustomPermissionFieldsProps<V>,
) {
  const { title, values, onChange } = props
  return (
    <fieldset className="rights">
      <legend>{title}</legend>
      {Object.entries(values).map(([name, value]) =>
        typeof value === 'boolean' ? (
          <CheckField
            key={name}
            label={permissionLabel(name)}
            value={value}
            onChange={(next) => onChange({ ...values, [name]: next })}
          />
        ) : (
          <ChoiceField<string>
            key={name}
            label={permissionLabel(name)}
            value={value}
            choices={PERMISSION_CHOICES[name] ?? [value]}
            onChange={(next) => onChange({ ...values, [name]: next })}
          />
        ),
      )}
    </fieldset>
  )
}
