import { hrefWith, navigate } from '../routing/location.ts'

interface StatusSelectProps {
  readonly statuses: readonly string[]
  readonly current: string | undefined
  /** Name of the URL parameter. */
  readonly name?: string
  readonly label?: string
}

/** Filters a list by status; the selection is part of the URL. */
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
