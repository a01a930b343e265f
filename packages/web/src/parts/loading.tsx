/** Shown only when it takes long enough to be noticed; see the style. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p className="loading" role="status">
      Loading {what}…
    </p>
  )
}
