import { useState, type ReactNode } from 'react'
import type { Verdict } from '../../actions/verdict.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { Api } from '../../session/api.ts'

interface AccessRowProps<Level extends string> {
  readonly organization: string
  /** Its id. */
  readonly team: string
  readonly level: Level
  readonly levels: readonly Level[]
  readonly refusal: Verdict
  readonly change: (api: Api, level: Level) => Promise<unknown>
  readonly remove: (api: Api) => Promise<unknown>
  readonly custom: (onClose: () => void) => ReactNode
}

/** One team and what it may do; the level is changed in place, or right by right. */
export function AccessRow<Level extends string>(props: AccessRowProps<Level>) {
  const { organization, team, level, levels, refusal, change, remove, custom } = props
  const act = useAct()
  const [isCustom, setCustom] = useState(false)
  const { data } = useRead(['team', team], (api, signal) =>
    api.v2.readTeam({ params: { team_id: team }, signal }),
  )
  const name = data?.data.attributes.name ?? team
  const choose = async (text: string) => {
    const next = levels.find((one) => one === text)
    if (next === undefined) return
    await act({ call: (api) => change(api, next), done: `${name} has ${next} access.` })
  }
  const take = async () => {
    if (refusal === undefined)
      await act({ call: remove, done: `${name} has no access of its own any more.` })
  }
  const isFixed = levels.includes(level)
  return (
    <li>
      <Link href={paths.team(organization, team)}>{name}</Link>
      <select
        aria-label={`Access of ${name}`}
        value={level}
        disabled={refusal !== undefined}
        title={refusal}
        onChange={({ target }) => void choose(target.value)}
      >
        {!isFixed && <option>{level}</option>}
        {levels.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <ActionButton refusal={refusal} onAct={() => setCustom(true)}>
        Rights…<span className="hidden"> of {name}</span>
      </ActionButton>
      <button
        type="button"
        className="icon-button"
        aria-disabled={refusal !== undefined}
        title={refusal}
        onClick={() => void take()}
      >
        <Icon name="close" label={`Take the access from ${name}`} />
      </button>
      {isCustom && custom(() => setCustom(false))}
    </li>
  )
}
