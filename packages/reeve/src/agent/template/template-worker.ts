/** Thread that renders templates, one request after the other. */
import { serveThread } from '../../threads/index.ts'
import { renderTemplates } from './render-templates.ts'
import type { RenderTask } from './template-renderer.ts'

serveThread(({ request, progress }: RenderTask) => {
  return renderTemplates(request, (index) => Atomics.store(progress, 0, index))
})
