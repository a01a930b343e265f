/** Icons of 16 by 16 pixels. States differ by shape first and by colour second. */
const SHAPES = {
  running: <path d="M5 3.2v9.6L13 8z" fill="currentColor" />,
  pending: (
    <circle
      cx="8"
      cy="8"
      r="5.2"
      fill="none"
      stroke="currentColor"
      strokeDasharray="2.6 2"
      strokeWidth="1.8"
    />
  ),
  complete: <path d="M3 8.4 6.6 12 13 4.6" fill="none" stroke="currentColor" strokeWidth="2.2" />,
  failed: <path d="m4 4 8 8m0-8-8 8" fill="none" stroke="currentColor" strokeWidth="2.2" />,
  lost: (
    <path
      d="M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM3.9 12.1l8.2-8.2"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
    />
  ),
  unknown: (
    <path
      d="M5.6 6.1a2.4 2.4 0 1 1 3.5 2.1C8.3 8.6 8 9 8 9.8m0 2v1.4"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.9"
    />
  ),
  paused: <path d="M4.5 3.5h2.4v9H4.5zm4.6 0h2.4v9H9.1z" fill="currentColor" />,
  stopped: <path d="M4 4h8v8H4z" fill="currentColor" />,
  warning: (
    <path
      d="M8 2.4 14.2 13H1.8zM8 6.4v3.2m0 1.4v1"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
    />
  ),
  canary: (
    <path d="M8 1.8 14.2 8 8 14.2 1.8 8z" fill="none" stroke="currentColor" strokeWidth="1.8" />
  ),
  search: (
    <path
      d="M7 2.6a4.4 4.4 0 1 0 0 8.8 4.4 4.4 0 0 0 0-8.8zM10.4 10.4 14 14"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
    />
  ),
  menu: <path d="M2 4.2h12M2 8h12M2 11.8h12" fill="none" stroke="currentColor" strokeWidth="1.7" />,
  close: <path d="m4 4 8 8m0-8-8 8" fill="none" stroke="currentColor" strokeWidth="1.7" />,
  copy: (
    <path
      d="M6 5.5h7v8H6zM3.4 10.6H3v-8h7v.8"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
    />
  ),
  theme: (
    <path
      d="M8 2.2a5.8 5.8 0 1 0 0 11.6zm0 0a5.8 5.8 0 0 1 0 11.6"
      fill="currentColor"
      stroke="currentColor"
      strokeWidth="1.4"
      fillOpacity=".9"
    />
  ),
  folder: <path d="M2 4h4l1.4 1.6H14v6.6H2z" fill="none" stroke="currentColor" strokeWidth="1.5" />,
  file: <path d="M4 2h5l3 3v9H4zM9 2v3h3" fill="none" stroke="currentColor" strokeWidth="1.4" />,
  live: <circle cx="8" cy="8" r="4" fill="currentColor" />,
  more: <path d="m5.5 3.5 5 4.5-5 4.5" fill="none" stroke="currentColor" strokeWidth="1.7" />,
} as const

export type IconName = keyof typeof SHAPES

/** An icon. `label` is required if no text beside it has the same meaning. */
export function Icon({ name, label }: { readonly name: IconName; readonly label?: string }) {
  const naming =
    label === undefined ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label }
  return (
    <svg className="icon" viewBox="0 0 16 16" width="16" height="16" {...naming}>
      {SHAPES[name]}
    </svg>
  )
}
