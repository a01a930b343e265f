import { hrefWith, navigate } from '../routing/location.ts'

interface StatusSelectProps {
  readonly statuses: readonly string[]
  readonly current: string | undefined
  /** The name in the address, and of the field. */
  readonly name?: string
  readonly label?: string
}

/** Narrows a list to one status; the choice is in the address. */
export function StatusSelect(props: StatusSelectProps) {
  const { statuses, current, name = 'status', label = 'Status' } = props
  return (
    <select
      aria-label={label}
      value={current ?? ''}
      onChange={(event) => navigate(hrefWith({ [name]: event.target.value }), { replace: true })}
    >
      <option value="">Any {label.toLowerCase()}</option>
      {statuses.map((status) => (
        <option key={status}>{status}</option>
      ))}
    </select>
  )
}
