import { signal } from '@preact/signals';
import { type Live, ofProject } from '../source/live.ts';
import { line } from '../text/visible.ts';

/** The server of the page, once it is connected; none in a file. */
export const server = signal<Live | undefined>(undefined);

/** The choice of the project, where the server has several. */
export function Projects() {
  const { projects = [], project } = server.value ?? {};
  if (projects.length < 2) return null;
  return (
    <select aria-label="Project" class="projects" value={project} onChange={(event) => location.assign(ofProject(event.currentTarget.value))}>
      {projects.map((it) => <option key={it.id} value={it.id} title={line(it.folder)}>{line(it.name)}</option>)}
    </select>
  );
}
