import { useState, type ReactNode } from 'react'
import type { DisabledReason } from '../../actions/verdict.ts'
import { useApiAction } from '../../data/use-act.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { Api } from '../../session/api.ts'

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
export function AccessRow<Level extends string>(props: AccessRowProps<Level>) {
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
