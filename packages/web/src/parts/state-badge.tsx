import { Icon } from './icon.tsx'
import { lookOf } from './state.ts'

interface StateBadgeProps {
  /** A word of the API, such as `running`. */
  readonly state: string
  /** What to show in its place. */
  readonly text?: string
  /** The server's longer words about it. */
  readonly title?: string | undefined
}

/** A state by word, shape and colour, in this order of importance. */
export function StateBadge({ state, text, title }: StateBadgeProps) {
  const { tone, icon } = lookOf(state)
  return (
    <span className={`badge tone-${tone}`} title={title}>
      <Icon name={icon} />
      {text ?? state}
    </span>
  )
}
