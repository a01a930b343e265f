import { EmptyState } from '../parts/empty-state.tsx'
import { paths } from '../paths.ts'
import { Link } from '../routing/link.tsx'

export function NotFound({ path }: { readonly path: string }) {
  return (
    <EmptyState
      title="Page not found"
      action={
        <Link className="button" href={paths.jobs()}>
          Go to the jobs
        </Link>
      }
    >
      <p>
        No page has the address <code>{path}</code>.
      </p>
    </EmptyState>
  )
}
