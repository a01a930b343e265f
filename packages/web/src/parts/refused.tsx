/** Shown instead of content that the caller may not read. */
export function PermissionNotice({ reason }: { readonly reason: string }) {
  return <p className="note tone-warn">{reason}</p>
}
