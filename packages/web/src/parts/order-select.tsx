import { hrefWith, navigate } from '../routing/location.ts'

/** Reads the order from the URL; newest first is the default. */
export function isNewestFirst(search: URLSearchParams): boolean {
  return search.get('order') !== 'oldest'
}

/** Selects the order of a list; the selection is part of the URL. */
export function OrderSelect({ search }: { readonly search: URLSearchParams }) {
  return (
    <select
      aria-label="Order"
      value={isNewestFirst(search) ? '' : 'oldest'}
      onChange={({ target }) => navigate(hrefWith({ order: target.value }), { replace: true })}
    >
      <option value="">Newest first</option>
      <option value="oldest">Oldest first</option>
    </select>
  )
}
