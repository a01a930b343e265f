/** Replaces what may not be seen: why not. */
export function Refused({ reason }: { readonly reason: string }) {
  return <p className="note tone-warn">{reason}</p>
}
