import { Icon } from './icon.tsx'
import { statusStyle } from './state.ts'

interface StatusBadgeProps {
  /** A status of the API, such as `running`. */
  readonly state: string
  /** Replaces the displayed text. */
  readonly text?: string
  /** Description, shown as a tooltip. */
  readonly title?: string | undefined
}

/** A status as text, icon and colour. */
export function StatusBadge({ state, text, title }: StatusBadgeProps) {
  const { tone, icon } = statusStyle(state)
  return (
    <span className={`badge tone-${tone}`} title={title}>
      <Icon name={icon} />
      {text ?? state}
    </span>
  )
}
