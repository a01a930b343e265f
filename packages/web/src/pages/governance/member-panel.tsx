import type { ReactNode } from 'react'
import type { Verdict } from '../../actions/verdict.ts'
import { Icon } from '../../parts/icon.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Picker, type Choice } from '../../parts/picker.tsx'
import { Link } from '../../routing/link.tsx'
import type { Api } from '../../session/api.ts'

export interface Member extends Choice {
  readonly href?: string | undefined
}

interface MemberPanelProps {
  readonly title: string
  /** One of them: `Project`. */
  readonly label: string
  readonly members: readonly Member[]
  /** Said when there are none. */
  readonly none: ReactNode
  readonly refusal: Verdict
  /** Where adding takes more than removing. */
  readonly addRefusal?: Verdict
  readonly queryKey: readonly unknown[]
  readonly find: (api: Api, text: string, signal: AbortSignal) => Promise<readonly Choice[]>
  readonly onAdd: (choice: Choice) => Promise<void>
  readonly onRemove: (member: Member) => Promise<void>
}

/** What belongs to something, with a way in and a way out. */
export function MemberPanel(props: MemberPanelProps) {
  const { title, label, members, none, refusal, addRefusal, queryKey, find, onAdd, onRemove } =
    props
  return (
    <Panel title={title}>
      <div className="stack">
        {members.length === 0 ? (
          <p className="quiet">{none}</p>
        ) : (
          <ul className="members">
            {members.map((member) => (
              <li key={member.id}>
                <MemberName member={member} />
                <button
                  type="button"
                  className="icon-button"
                  aria-disabled={refusal !== undefined}
                  title={refusal}
                  onClick={() => (refusal === undefined ? void onRemove(member) : undefined)}
                >
                  <Icon name="close" label={`Remove ${member.text} from ${title.toLowerCase()}`} />
                </button>
              </li>
            ))}
          </ul>
        )}
        <Picker
          label={label}
          queryKey={queryKey}
          find={find}
          action="Add"
          refusal={refusal ?? addRefusal}
          onPick={onAdd}
        />
      </div>
    </Panel>
  )
}

function MemberName({ member: { text, href } }: { readonly member: Member }) {
  return href === undefined ? <span>{text}</span> : <Link href={href}>{text}</Link>
}
