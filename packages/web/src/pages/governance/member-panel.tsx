import type { ReactNode } from 'react'
import type { DisabledReason } from '../../actions/verdict.ts'
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
  /** Label of the picker, such as `Project`. */
  readonly label: string
  readonly members: readonly Member[]
  /** Shown without members. */
  readonly emptyText: ReactNode
  readonly disabledReason: DisabledReason
  /** For lists where adding requires more permissions than removing. */
  readonly addDisabledReason?: DisabledReason
  readonly queryKey: readonly unknown[]
  readonly find: (api: Api, text: string, signal: AbortSignal) => Promise<readonly Choice[]>
  readonly onAdd: (choice: Choice) => Promise<void>
  readonly onRemove: (member: Member) => Promise<void>
}

/** A list of members, with controls to add and remove them. */
export function MemberPanel(props: MemberPanelProps) {
  const {
    title,
    label,
    members,
    emptyText,
    disabledReason,
    addDisabledReason,
    queryKey,
    find,
    onAdd,
    onRemove,
  } = props
  return (
    <Panel title={title}>
      <div className="stack">
        {members.length === 0 ? (
          <p className="quiet">{emptyText}</p>
        ) : (
          <ul className="members">
            {members.map((member) => (
              <li key={member.id}>
                <MemberName member={member} />
                <button
                  type="button"
                  className="icon-button"
                  aria-disabled={disabledReason !== undefined}
                  title={disabledReason}
                  onClick={() => (disabledReason === undefined ? void onRemove(member) : undefined)}
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
          disabledReason={disabledReason ?? addDisabledReason}
          onPick={onAdd}
        />
      </div>
    </Panel>
  )
}

function MemberName({ member: { text, href } }: { readonly member: Member }) {
  return href === undefined ? <span>{text}</span> : <Link href={href}>{text}</Link>
}
